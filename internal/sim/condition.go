package sim

import (
	"fmt"
	"math"

	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the conditions of scripts: each gives why it does not hold, "" if it does.

type slotID = slot.ID

// condition finds a condition by its name and arguments.
func (w *world) condition(c *command, words []string) (func() string, error) {
	if len(words) != 1 {
		return nil, c.errorf("one condition is needed")
	}
	switch words[0] {
	case "stable":
		return w.unstable, nil
	case "owner":
		return w.ownerCondition(c)
	case "primary", "replica", "down", "ok", "unknown", "failed":
		return w.nodeCondition(c, words[0])
	case "lost":
		most, err := c.number("max", 0)
		return func() string {
			if lost := w.load.lost(); lost > most {
				return fmt.Sprintf("%d slots have lost acknowledged writes", lost)
			}
			return ""
		}, err
	case "mark":
		return w.markCondition(c)
	}
	return nil, c.errorf("there is no condition %q", words[0])
}

// ownerCondition: every live node sees the node as the owner of the slot.
func (w *world) ownerCondition(c *command) (func() string, error) {
	n, err := c.node(w, "node")
	if err != nil {
		return nil, err
	}
	number, err := c.number("slot", 0)
	if err != nil || number < 0 || number >= slot.Count {
		return nil, c.errorf("there is no such slot")
	}
	return func() string {
		for _, other := range w.nodes {
			if other.takesPart() && other.core.Owner(slotID(number)) != n.id {
				return fmt.Sprintf("node %s sees node %s as owner", other.name(), w.nameOf(other.core.Owner(slotID(number))))
			}
		}
		return ""
	}, nil
}

// nodeCondition: what nodes say of themselves (primary, replica of=, ok, down), or what all others say of them (unknown,
// failed). With any=yes one of them is enough. Nodes that are down say nothing against it.
func (w *world) nodeCondition(c *command, what string) (func() string, error) {
	list, err := c.nodes(w, "node")
	if err != nil {
		return nil, err
	}
	var of *node
	if c.args["of"] != "" {
		if of, err = c.node(w, "of"); err != nil {
			return nil, err
		}
	}
	enough := c.args["any"] == "yes"
	return func() (why string) {
		for _, n := range list {
			why = ""
			if what == "unknown" || what == "failed" {
				why = w.othersSay(n, what)
			} else if n.alive {
				why = n.says(what, of)
			} else if enough {
				why = "node " + n.name() + " is down"
			}
			if (why == "") == enough {
				return why
			}
		}
		return why
	}, nil
}

// says compares what a node says of itself with what it should say.
func (n *node) says(what string, of *node) string {
	v := n.core.View()
	me := v.Me()
	role := "primary"
	if me.Flags.Has(wire.FlagReplica) {
		role = "replica"
	}
	switch what {
	case "ok", "down":
		if (n.core.State() == wire.StateOK) != (what == "ok") {
			return fmt.Sprintf("the cluster state of node %s is %s", n.name(), n.core.State())
		}
		return ""
	case role:
	default:
		return fmt.Sprintf("node %s is a %s", n.name(), role)
	}
	if of != nil && (me.Primary < 0 || v.Nodes[me.Primary].ID != of.id) {
		return fmt.Sprintf("node %s does not follow node %s", n.name(), of.name())
	}
	return ""
}

// othersSay compares what all others say of a node.
func (w *world) othersSay(n *node, what string) string {
	for _, other := range w.nodes {
		if other == n || !other.takesPart() {
			continue
		}
		seen := find(other.core.View(), n.id)
		switch {
		case what == "unknown" && seen != nil:
			return fmt.Sprintf("node %s still knows node %s", other.name(), n.name())
		case what == "failed" && (seen == nil || !seen.Flags.Has(wire.FlagFail)):
			return fmt.Sprintf("node %s does not call node %s failed", other.name(), n.name())
		}
	}
	return ""
}

// markCondition: a log line of this kind has come so often: "expect mark text=vote_granted min=2 max=3", with underscores
// for blanks.
func (w *world) markCondition(c *command) (func() string, error) {
	least, err := c.number("min", 0)
	if err != nil {
		return nil, err
	}
	most, err := c.number("max", math.MaxInt)
	if err != nil {
		return nil, err
	}
	text := unscore(c.args["text"])
	return func() string {
		if came := w.trace.marks[text]; came < least || came > most {
			return fmt.Sprintf("%q came %d times", text, came)
		}
		return ""
	}, nil
}

// unscore turns underscores into blanks.
func unscore(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c == '_' {
			b[i] = ' '
		}
	}
	return string(b)
}
