package sim

import (
	"strconv"

	"github.com/covey-db/covey/internal/cluster/core"
)

// This file runs the commands that change the network and the disks, and the move of a slot.

// doWorld changes the network or a disk.
func (w *world) doWorld(c *command) (err error) {
	switch c.verb {
	case "cut":
		return w.doCut(c)
	case "heal":
		for _, row := range w.net.cut {
			clear(row)
		}
		w.net.touched()
	case "delay":
		if w.net.delayMin, err = c.span("min", 200); err == nil {
			w.net.delayMax, err = c.span("max", 2*millisecond)
		}
	case "loss":
		w.net.lossRate, err = strconv.ParseFloat(c.args["rate"], 64)
	case "slow":
		return w.doSlow(c)
	case "flap":
		return w.doFlap(c)
	case "disk":
		var list []*node
		if list, err = c.nodes(w, "node"); err != nil {
			return err
		}
		for _, n := range list {
			n.disk.syncTime, err = c.span("sync", syncTimeUsual)
		}
	}
	return err
}

// doCut separates nodes from the others: "cut nodes=1,2" in both directions, with way=out or way=in in one; "cut nodes=1
// from=2" separates them from those only.
func (w *world) doCut(c *command) error {
	list, err := c.nodes(w, "nodes")
	if err != nil {
		return err
	}
	others := w.nodes
	if c.args["from"] != "" {
		if others, err = c.nodes(w, "from"); err != nil {
			return err
		}
	}
	inside := map[*node]bool{}
	for _, n := range list {
		inside[n] = true
	}
	for _, a := range list {
		for _, b := range others {
			if inside[b] {
				continue
			}
			if c.args["way"] != "in" {
				w.net.cut[a.index][b.index] = true
			}
			if c.args["way"] != "out" {
				w.net.cut[b.index][a.index] = true
			}
		}
	}
	w.net.changed = w.now
	return nil
}

// doSlow makes a node's network slower: "slow node=2 factor=50".
func (w *world) doSlow(c *command) error {
	list, err := c.nodes(w, "node")
	if err != nil {
		return err
	}
	factor, err := c.number("factor", 1)
	for _, n := range list {
		w.net.slow[n] = instant(factor)
	}
	return err
}

// doFlap breaks the connections between two nodes again and again: "flap a=1 b=2 every=300ms for=10s".
func (w *world) doFlap(c *command) error {
	a, err := c.node(w, "a")
	if err != nil {
		return err
	}
	b, err := c.node(w, "b")
	if err != nil {
		return err
	}
	every, err := c.span("every", 300*millisecond)
	if err != nil {
		return err
	}
	length, err := c.span("for", 10*second)
	if err != nil {
		return err
	}
	end := w.now + length
	var again func()
	again = func() {
		w.net.breakBetween(a, b)
		if w.now < end {
			w.after(w.between(every/2, every*3/2), again)
		}
	}
	w.after(every, again)
	return nil
}

// doMove moves slots with their keys as the standard tool does: "move slot=100 count=5 to=2". Without may=fail every step
// must work. With steps=2 the tool dies after so many.
func (w *world) doMove(c *command) error {
	to, err := c.node(w, "to")
	if err != nil {
		return err
	}
	first, err := c.number("slot", 0)
	if err != nil {
		return err
	}
	count, err := c.number("count", 1)
	if err != nil {
		return err
	}
	steps, err := c.number("steps", moveSteps)
	if err != nil {
		return err
	}
	for s := first; s < first+count; s++ {
		if ok := w.moveSlot(slotID(s), to, steps); !ok && c.args["may"] != "fail" {
			w.fail("line %d: %s: slot %d was not moved", c.line, c.text, s)
		}
	}
	return w.failure
}

// moveSteps are the steps of a move that are commands: two that open it, and two that tell the new owner.
const moveSteps = 4

// moveSlot moves one slot, and tells whether every step worked. It ends after so many.
func (w *world) moveSlot(s slotID, to *node, steps int) bool {
	from := w.ownerOf(s)
	if from == nil || from == to || !to.takesPart() {
		return from == to
	}
	slot := strconv.Itoa(int(s))
	try := func(n *node, words ...string) bool {
		if steps--; steps < 0 {
			return false
		}
		r, answered := w.ask(n, words...)
		return answered && r.Kind == core.Status
	}
	if !try(to, "SETSLOT", slot, "IMPORTING", from.id.String()) || !try(from, "SETSLOT", slot, "MIGRATING", to.id.String()) {
		return false
	}
	if steps == 0 || w.net.apart(from, to) || !from.takesPart() || !to.takesPart() || from.paused {
		return false
	}
	if from.data.has(s) {
		to.data.write(s, from.data.values[s])
		from.data.write(s, 0)
	}
	if !try(to, "SETSLOT", slot, "NODE", to.id.String()) || !try(from, "SETSLOT", slot, "NODE", to.id.String()) {
		return false
	}
	return true
}
