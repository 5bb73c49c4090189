package command

import (
	"bytes"
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// This file holds what all commands on streams need, and the small ones.

func streamHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"xadd":                  {Run: cmdXAdd},
		"xtrim":                 {Run: cmdXTrim},
		"xlen":                  {Run: cmdXLen},
		"xdel":                  {Run: cmdXDel},
		"xsetid":                {Run: cmdXSetID},
		"xrange":                {Run: func(c *engine.Ctx) { replyInterval(c, false) }},
		"xrevrange":             {Run: func(c *engine.Ctx) { replyInterval(c, true) }},
		"xread":                 {Run: func(c *engine.Ctx) { readStreams(c, false) }},
		"xreadgroup":            {Run: func(c *engine.Ctx) { readStreams(c, true) }},
		"xack":                  {Run: cmdXAck},
		"xpending":              {Run: cmdXPending},
		"xclaim":                {Run: cmdXClaim},
		"xautoclaim":            {Run: cmdXAutoClaim},
		"xgroup|create":         {Run: cmdXGroupCreate},
		"xgroup|setid":          {Run: cmdXGroupSetID},
		"xgroup|destroy":        {Run: cmdXGroupDestroy},
		"xgroup|createconsumer": {Run: cmdXGroupCreateConsumer},
		"xgroup|delconsumer":    {Run: cmdXGroupDelConsumer},
		"xgroup|help":           {Run: cmdXGroupHelp},
		"xinfo|stream":          {Run: cmdXInfoStream},
		"xinfo|groups":          {Run: cmdXInfoGroups},
		"xinfo|consumers":       {Run: cmdXInfoConsumers},
		"xinfo|help":            {Run: cmdXInfoHelp},
	}
}

const (
	errStreamID      = "ERR Invalid stream ID specified as stream command argument"
	errIntervalStart = "ERR invalid start ID for the interval"
	errIntervalEnd   = "ERR invalid end ID for the interval"
)

// readStream finds the first key as a stream for reading. ok is false when the error has been replied.
func readStream(c *engine.Ctx) (s stream.Stream, exists, ok bool) {
	rec, exists := c.Find(0)
	return openStream(c, rec, exists)
}

// writeStream finds the first key as a stream that is about to change.
func writeStream(c *engine.Ctx) (s stream.Stream, exists, ok bool) {
	rec, exists := c.FindWrite(0)
	return changeStream(c, 0, rec, exists)
}

// readToWrite is readStream for a command that may change the stream, and that counts as a hit or a miss all the same.
func readToWrite(c *engine.Ctx, i int) (s stream.Stream, exists, ok bool) {
	rec, exists := c.Find(i)
	return changeStream(c, i, rec, exists)
}

func openStream(c *engine.Ctx, rec keyspace.Rec, exists bool) (stream.Stream, bool, bool) {
	switch {
	case !exists:
		return stream.Stream{}, false, true
	case rec.Type() != keyspace.TypeStream:
		c.Err(engine.ErrWrongType)
		return stream.Stream{}, true, false
	}
	return object.OpenStream(rec), true, true
}

// changeStream hands the old state to who needs it.
func changeStream(c *engine.Ctx, i int, rec keyspace.Rec, exists bool) (stream.Stream, bool, bool) {
	s, exists, ok := openStream(c, rec, exists)
	if exists && ok {
		c.Part(i).HandOver(c.DB(), c.Key(i), rec)
	}
	return s, exists, ok
}

// idTextMax is the longest text that may be an ID.
const idTextMax = 127

// parseID reads an ID: milliseconds, or milliseconds and a number. What is missing is given. auto: the number is to be
// found by the server, which only XADD allows; - and + are IDs only when edges is set.
func parseID(b []byte, missing uint64, edges bool) (id stream.ID, auto, ok bool) {
	if len(b) > idTextMax {
		return id, false, false
	}
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end] // what Redis sees of it
	}
	switch {
	case len(b) == 1 && b[0] == '-':
		return stream.ID{}, false, edges
	case len(b) == 1 && b[0] == '+':
		return stream.MaxID(), false, edges
	}
	ms, seq, found := bytes.Cut(b, []byte{'-'})
	if id.Ms, ok = num.ParseUint(ms); !ok {
		return id, false, false
	}
	switch {
	case !found:
		id.Seq = missing
	case len(seq) == 1 && seq[0] == '*':
		return id, true, true
	default:
		id.Seq, ok = num.ParseUint(seq)
	}
	return id, false, ok
}

// idArg reads argument i as an ID in full; a missing number is 0.
func idArg(c *engine.Ctx, i int) (stream.ID, bool) {
	id, auto, ok := parseID(c.Args[i], 0, false)
	if !ok || auto {
		c.Err(errStreamID)
		return id, false
	}
	return id, true
}

// idArgs reads the arguments from i on as IDs.
func idArgs(c *engine.Ctx, i int) ([]stream.ID, bool) {
	ids := make([]stream.ID, 0, len(c.Args)-i)
	for ; i < len(c.Args); i++ {
		id, ok := idArg(c, i)
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// boundArg reads argument i as an end of an interval, which may be exclusive; that is true when it is.
func boundArg(c *engine.Ctx, i int, missing uint64) (id stream.ID, open, ok bool) {
	b := c.Args[i]
	open = len(b) > 1 && b[0] == '('
	if open {
		b = b[1:]
	}
	id, auto, ok := parseID(b, missing, !open)
	if !ok || auto {
		c.Err(errStreamID)
		return id, open, false
	}
	return id, open, true
}

// startArg reads argument i as the start of an interval.
func startArg(c *engine.Ctx, i int) (stream.ID, bool) {
	id, open, ok := boundArg(c, i, 0)
	if ok && open {
		if id, ok = id.Next(); !ok {
			c.Err(errIntervalStart)
		}
	}
	return id, ok
}

// endArg reads argument i as the end of an interval.
func endArg(c *engine.Ctx, i int) (stream.ID, bool) {
	id, open, ok := boundArg(c, i, math.MaxUint64)
	if ok && open {
		if id, ok = id.Prev(); !ok {
			c.Err(errIntervalEnd)
		}
	}
	return id, ok
}

func cmdXLen(c *engine.Ctx) {
	s, exists, ok := readStream(c)
	switch {
	case !ok:
	case !exists:
		c.ReplyInt(0)
	default:
		c.ReplyInt(s.Len())
	}
}

func cmdXDel(c *engine.Ctx) {
	s, exists, ok := writeStream(c)
	if !ok {
		return
	}
	if !exists {
		c.ReplyInt(0)
		return
	}
	ids, ok := idArgs(c, 2)
	if !ok {
		return
	}
	deleted := s.Delete(ids)
	if deleted > 0 {
		c.ChangedInPlace(0)
		c.CountChanges(deleted - 1)
		c.Notify(config.EventStream, "xdel", 0)
	}
	c.ReplyInt(int64(deleted))
}

// setIDOptions are the words behind XSETID key id.
type setIDOptions struct {
	added      int64 // -1: not given
	maxDeleted stream.ID
}

func parseSetID(c *engine.Ctx, last stream.ID) (o setIDOptions, ok bool) {
	o.added = -1
	for i := 3; i < len(c.Args); i += 2 {
		more := i+1 < len(c.Args)
		switch {
		case c.ArgIs(i, "ENTRIESADDED") && more:
			if o.added, ok = c.Int(i + 1); !ok {
				return o, false
			}
			if o.added < 0 {
				c.Err("ERR entries_added must be positive")
				return o, false
			}
		case c.ArgIs(i, "MAXDELETEDID") && more:
			if o.maxDeleted, ok = idArg(c, i+1); !ok {
				return o, false
			}
			if last.Less(o.maxDeleted) {
				c.Err("ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id")
				return o, false
			}
		default:
			c.Err(engine.ErrSyntax)
			return o, false
		}
	}
	return o, true
}

func cmdXSetID(c *engine.Ctx) {
	last, ok := idArg(c, 2)
	if !ok {
		return
	}
	o, ok := parseSetID(c, last)
	if !ok {
		return
	}
	s, exists, ok := writeStream(c)
	if !ok {
		return
	}
	if !exists {
		c.Err(engine.ErrNoSuchKey)
		return
	}
	if text := o.refusal(s, last); text != "" {
		c.Err(text)
		return
	}
	s.SetLastID(last)
	if o.added >= 0 {
		s.SetEntriesAdded(o.added)
	}
	if !o.maxDeleted.IsZero() {
		s.SetMaxDeletedID(o.maxDeleted)
	}
	c.CountChanges(1)
	c.Notify(config.EventStream, "xsetid", 0)
	c.OK()
}

// refusal says why a stream cannot get this last ID, and is empty when it can.
func (o *setIDOptions) refusal(s stream.Stream, last stream.ID) string {
	if last.Less(s.MaxDeletedID()) {
		return "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
	}
	top, ok := s.Last()
	switch {
	case ok && last.Less(top):
		return "ERR The ID specified in XSETID is smaller than the target stream top item"
	case ok && o.added >= 0 && s.Len() > o.added:
		return "ERR The entries_added specified in XSETID is smaller than the target stream length"
	}
	return ""
}
