package sim

import (
	"fmt"
	"io"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file writes down what happens.

// trace writes the story of a run.
type trace struct {
	out io.Writer // nil: nothing is written
	// level is the least level of log lines that are written; with story only those that make the story.
	level core.Level
	story bool
	// marks counts how often each log text came: rare branches can be seen to have been taken.
	marks map[string]int
}

// log writes a log line of a node. An error-level line ends the run.
func (t *trace) log(n *node, l core.Log) {
	if t.marks == nil {
		t.marks = map[string]int{}
	}
	t.marks[l.Text]++
	if l.Level >= core.Error {
		n.w.fail("node %s logs an error: %s", n.name(), l.Text)
	}
	if t.out == nil || l.Level < t.level || t.story && !isStory(l.Text) {
		return
	}
	line := fmt.Sprintf("t=%s node=%s %s", n.w.clock(), n.name(), l.Text)
	if !l.Node.IsZero() && l.Node != n.id {
		line += " about=" + n.w.nameOf(l.Node)
	}
	if l.Epoch != 0 {
		line += fmt.Sprintf(" epoch=%d", l.Epoch)
	}
	if l.Value != 0 {
		line += fmt.Sprintf(" value=%d", l.Value)
	}
	fmt.Fprintln(t.out, line)
}

// isStory tells whether a log line belongs to the story of a run: what scripts are compared by.
func isStory(text string) bool {
	switch text {
	case "asking for votes", "node has failed: a majority does not reach it", "last slot lost: following the new owner",
		"failover by command timed out", "migrating to a primary without replicas", "node forgotten",
		"epoch collides with that of another primary", "configuration epoch set":
		return true
	}
	return false
}

// event writes something the world saw happen to a node.
func (t *trace) event(n *node, format string, args ...any) {
	if t.out != nil {
		fmt.Fprintf(t.out, "t=%s node=%s %s\n", n.w.clock(), n.name(), fmt.Sprintf(format, args...))
	}
}

// say writes a line of the script.
func (t *trace) say(w *world, format string, args ...any) {
	if t.out != nil {
		fmt.Fprintf(t.out, "t=%s %s\n", w.clock(), fmt.Sprintf(format, args...))
	}
}

// nameOf gives the number of the node with this name, for people.
func (w *world) nameOf(id wire.NodeID) string {
	for _, n := range w.nodes {
		if n.id == id {
			return n.name()
		}
	}
	return id.String()[:8]
}
