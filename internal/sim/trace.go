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
	// level is the least level of log lines that are written.
	level core.Level
	// names gives the number of a node for people.
	names map[wire.NodeID]string
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
	if t.out == nil || l.Level < t.level {
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
