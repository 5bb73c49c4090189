package core

import (
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the CLUSTER commands about slots.

func (c *Core) runSlots(name string, args [][]byte, keys KeyCounts) string {
	n := len(args)
	switch {
	case (name == "addslots" || name == "delslots") && n >= 2:
		return c.cmdSlots(args[1:], 1, name == "delslots")
	case (name == "addslotsrange" || name == "delslotsrange") && n >= 3:
		if n%2 == 0 {
			return "ERR wrong number of arguments for 'cluster|" + name + "' command"
		}
		return c.cmdSlots(args[1:], 2, name == "delslotsrange")
	case name == "flushslots" && n == 1:
		return c.cmdFlushSlots(keys)
	case name == "setslot" && n >= 3:
		return c.cmdSetSlot(args[1:], keys)
	}
	return errUsage(args[0])
}

// parseSlot reads a slot number.
func parseSlot(text []byte) (s slot.ID, failure string) {
	v, ok := num.ParseInt(text)
	if !ok || v < 0 || v >= slot.Count {
		return 0, "ERR Invalid or out of range slot"
	}
	return slot.ID(v), ""
}

// cmdSlots is ADDSLOTS and DELSLOTS (words: 1) and their RANGE forms (words: 2). Either all slots change or none.
func (c *Core) cmdSlots(args [][]byte, words int, remove bool) string {
	if words == 1 { // all numbers are looked at before any slot is
		for _, text := range args {
			if _, failure := parseSlot(text); failure != "" {
				return failure
			}
		}
	}
	var set slot.Set
	for ; len(args) > 0; args = args[words:] {
		if failure := c.addRange(&set, args[0], args[words-1], remove); failure != "" {
			return failure
		}
	}
	if !remove && c.me.isReplica() {
		return "ERR Please use ADDSLOTS only with masters."
	}
	for first, last := range set.Ranges {
		for s := first; s <= last; s++ {
			delete(c.importing, s)
			if remove {
				c.setOwner(s, nil)
			} else {
				c.setOwner(s, c.me)
			}
		}
	}
	if remove {
		c.save(saveHeld)
	} else {
		c.save(saveSynced) // others will count on this claim
	}
	return ""
}

// addRange puts a range of slots into set, unless one of them cannot be added or removed, or is in it already.
func (c *Core) addRange(set *slot.Set, from, to []byte, remove bool) string {
	first, failure := parseSlot(from)
	if failure != "" {
		return failure
	}
	last, failure := parseSlot(to)
	switch {
	case failure != "":
		return failure
	case first > last:
		return "ERR start slot number " + decimal(first) + " is greater than end slot number " + decimal(last)
	}
	for s := first; s <= last; s++ {
		switch {
		case remove && c.owners[s] == nil:
			return "ERR Slot " + decimal(s) + " is already unassigned"
		case !remove && c.owners[s] != nil:
			return "ERR Slot " + decimal(s) + " is already busy"
		case set.Has(s):
			return "ERR Slot " + decimal(s) + " specified multiple times"
		}
		set.Add(s)
	}
	return ""
}

func decimal(s slot.ID) string { return strconv.Itoa(int(s)) }

// cmdFlushSlots: FLUSHSLOTS.
func (c *Core) cmdFlushSlots(keys KeyCounts) string {
	if keys.Keys() > 0 {
		return "ERR DB must be empty to perform CLUSTER FLUSHSLOTS."
	}
	c.disown(c.me)
	c.save(saveHeld)
	return ""
}

// cmdSetSlot: SETSLOT slot (MIGRATING id | IMPORTING id | STABLE | NODE id).
func (c *Core) cmdSetSlot(args [][]byte, keys KeyCounts) string {
	if c.me.isReplica() {
		return "ERR Please use SETSLOT only with masters."
	}
	s, failure := parseSlot(args[0])
	if failure != "" {
		return failure
	}
	switch action := strings.ToLower(string(args[1])); {
	case action == "migrating" && len(args) == 3:
		failure = c.setMigrating(s, args[2])
	case action == "importing" && len(args) == 3:
		failure = c.setImporting(s, args[2])
	case action == "stable" && len(args) == 2:
		delete(c.migrating, s)
		delete(c.importing, s)
	case action == "node" && len(args) == 3:
		failure = c.setSlotNode(s, args[2], keys)
	default:
		return "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP"
	}
	if failure == "" {
		c.touch(s)
		c.todo.state = true
		c.save(saveHeld)
	}
	return failure
}

func (c *Core) setMigrating(s slot.ID, id []byte) string {
	if c.owners[s] != c.me {
		return "ERR I'm not the owner of hash slot " + decimal(s)
	}
	n, failure := c.findPrimary(id)
	if failure == "" {
		c.migrating[s] = n
	}
	return failure
}

func (c *Core) setImporting(s slot.ID, id []byte) string {
	if c.owners[s] == c.me {
		return "ERR I'm already the owner of hash slot " + decimal(s)
	}
	n, failure := c.findPrimary(id)
	if failure == "" {
		c.importing[s] = n
	}
	return failure
}

// findPrimary looks up the other side of a move.
func (c *Core) findPrimary(id []byte) (*node, string) {
	n, failure := c.findNode(id, "ERR I don't know about node ")
	if n != nil && n.isReplica() {
		return nil, errNotPrimary
	}
	return n, failure
}

// setSlotNode gives a slot to a node by command. When this node ends an import that way it takes a new epoch, without a
// vote, so that its claim beats that of the former owner everywhere (spec: resharding).
func (c *Core) setSlotNode(s slot.ID, id []byte, keys KeyCounts) string {
	n, failure := c.findNode(id, errUnknownNode)
	if failure != "" {
		return failure
	}
	if n.isReplica() {
		return errNotPrimary
	}
	mine := c.owners[s] == c.me
	count := keys.KeysIn(s)
	if mine && n != c.me && count > 0 {
		return "ERR Can't assign hashslot " + decimal(s) + " to a different node while I still hold keys for this hash slot."
	}
	if count == 0 {
		delete(c.migrating, s)
	}
	c.setOwner(s, n)
	if mine && n != c.me && c.me.owned == 0 && c.cfg.AllowReplicaMigration {
		c.logNode(Info, "last slot given away: following the new owner", n)
		c.follow(n)
	}
	if n == c.me {
		c.save(saveSynced) // others will count on this claim
	}
	if n == c.me && c.importing[s] != nil {
		c.bumpEpoch()
		delete(c.importing, s)
		c.pongAll(anyNode)
	}
	return ""
}
