package command

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/object"
)

// This file holds XGROUP.

const (
	errGroupNeedsKey = "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the " +
		"MKSTREAM option to create an empty stream automatically."
	errGroupExists = "BUSYGROUP Consumer Group name already exists"
)

// groupOptions are the words behind XGROUP CREATE and SETID.
type groupOptions struct {
	makeStream bool
	read       int64
}

// parseGroup reads the words from argument 5 on.
func parseGroup(c *engine.Ctx, create bool) (o groupOptions, ok bool) {
	o.read = stream.Unknown
	for i := 5; i < len(c.Args); i++ {
		switch {
		case create && c.ArgIs(i, "MKSTREAM"):
			o.makeStream = true
		case c.ArgIs(i, "ENTRIESREAD") && i+1 < len(c.Args):
			i++
			if o.read, ok = c.Int(i); !ok {
				return o, false
			}
			if o.read < 0 && o.read != stream.Unknown {
				c.Err("ERR value for ENTRIESREAD must be positive or -1")
				return o, false
			}
		default:
			subcommandErr(c)
			return o, false
		}
	}
	return o, true
}

// groupStream finds the stream of an XGROUP command, which must exist unless make is set.
func groupStream(c *engine.Ctx, makeStream bool) (s stream.Stream, exists, ok bool) {
	s, exists, ok = writeStream(c)
	if ok && !exists && !makeStream {
		c.Err(errGroupNeedsKey)
		return s, false, false
	}
	return s, exists, ok
}

// existingGroup finds the group of an XGROUP command that needs one.
func existingGroup(c *engine.Ctx) (s stream.Stream, g stream.Group, ok bool) {
	s, _, ok = groupStream(c, false)
	if !ok {
		return s, g, false
	}
	if g, ok = s.Group(c.Args[3]); !ok {
		c.Err(noGroupOfKey(c, 3))
	}
	return s, g, ok
}

// noGroupOfKey is the reply when the group that argument i names does not exist.
func noGroupOfKey(c *engine.Ctx, i int) string {
	return "NOGROUP No such consumer group '" + shown(c.Args[i]) + "' for key name '" + shown(c.Key(0).Bytes) + "'"
}

// groupID reads argument 4, of which $ means the last ID of the stream.
func groupID(c *engine.Ctx, s stream.Stream, exists, edges bool) (id stream.ID, ok bool) {
	if string(c.Args[4]) == "$" {
		if exists {
			id = s.LastID()
		}
		return id, true
	}
	id, auto, ok := parseID(c.Args[4], 0, edges)
	if !ok || auto {
		c.Err(errStreamID)
		return id, false
	}
	return id, true
}

func cmdXGroupCreate(c *engine.Ctx) {
	o, ok := parseGroup(c, true)
	if !ok {
		return
	}
	s, exists, ok := groupStream(c, o.makeStream)
	if !ok {
		return
	}
	if len(c.Args) > 8 {
		subcommandErr(c)
		return
	}
	id, ok := groupID(c, s, exists, false)
	if !ok {
		return
	}
	if !exists {
		s = object.NewStream(c.Place(0))
		c.Modified(0)
	}
	if _, ok = s.AddGroup(c.Args[3], id, o.read); !ok {
		c.Err(errGroupExists)
		return
	}
	c.CountChanges(1)
	c.Notify(config.EventStream, "xgroup-create", 0)
	c.OK()
}

func cmdXGroupSetID(c *engine.Ctx) {
	o, ok := parseGroup(c, false)
	if !ok {
		return
	}
	s, g, ok := existingGroup(c)
	if !ok {
		return
	}
	if len(c.Args) > 7 {
		subcommandErr(c)
		return
	}
	id, ok := groupID(c, s, true, true)
	if !ok {
		return
	}
	g.SetLastID(id)
	g.SetEntriesRead(o.read)
	c.CountChanges(1)
	c.Notify(config.EventStream, "xgroup-setid", 0)
	c.OK()
}

func cmdXGroupDestroy(c *engine.Ctx) {
	s, _, ok := groupStream(c, false)
	if !ok {
		return
	}
	if !object.RemoveGroup(c.Part(0), s, c.Args[3]) {
		c.ReplyInt(0)
		return
	}
	c.CountChanges(1)
	c.Notify(config.EventStream, "xgroup-destroy", 0)
	c.Ready(0) // who waits for the group hears that it is gone
	c.ReplyInt(1)
}

func cmdXGroupCreateConsumer(c *engine.Ctx) {
	_, g, ok := existingGroup(c)
	if !ok {
		return
	}
	if _, exists := g.Consumer(c.Args[4]); exists {
		c.ReplyInt(0)
		return
	}
	addConsumer(c, g, c.Args[4], 0)
	c.ReplyInt(1)
}

func cmdXGroupDelConsumer(c *engine.Ctx) {
	_, g, ok := existingGroup(c)
	if !ok {
		return
	}
	pending, found := g.RemoveConsumer(c.Args[4])
	if found {
		c.CountChanges(1)
		c.Notify(config.EventStream, "xgroup-delconsumer", 0)
	}
	c.ReplyInt(int64(pending))
}

func cmdXGroupHelp(c *engine.Ctx) {
	c.Help(
		"CREATE <key> <groupname> <id|$> [MKSTREAM] [ENTRIESREAD <entries>]",
		"    Make a group that begins behind an entry, or at the end ($); MKSTREAM makes a stream that is missing,",
		"    ENTRIESREAD tells how many entries count as read, for the lag.",
		"CREATECONSUMER <key> <groupname> <consumer>",
		"    Make a consumer in a group.",
		"DELCONSUMER <key> <groupname> <consumer>",
		"    Remove a consumer and what is pending with it.",
		"DESTROY <key> <groupname>",
		"    Remove a group with its consumers.",
		"SETID <key> <groupname> <id|$> [ENTRIESREAD <entries>]",
		"    Have a group go on behind another entry.",
	)
}
