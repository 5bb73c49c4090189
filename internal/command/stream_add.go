package command

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// This file holds XADD and XTRIM, which share the words that say how far a stream is cut.

// addOptions are the words of XADD and XTRIM.
type addOptions struct {
	id       stream.ID
	idGiven  bool // not *
	autoSeq  bool // ms-*
	noMake   bool // NOMKSTREAM
	idAt     int  // argument of the ID; of XADD only
	trims    bool // there is a MAXLEN or a MINID
	trim     stream.Trim
	boundAt  int // argument of the bound
	limitSet bool
}

// errTrimTwice is the reply to both kinds of bounds in one command.
const errTrimTwice = "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"

// parseAdd reads the options of XADD, up to and including the ID, or those of XTRIM.
func parseAdd(c *engine.Ctx, o *addOptions, add bool) (ok bool) {
	i := 2
	for ; i < len(c.Args); i++ {
		word := c.Args[i]
		more := i+1 < len(c.Args)
		switch {
		case add && len(word) == 1 && word[0] == '*':
			return o.endAt(c, i, add)
		case (c.ArgIs(i, "MAXLEN") || c.ArgIs(i, "MINID")) && more:
			if i, ok = o.parseBound(c, i, c.ArgIs(i, "MINID")); !ok {
				return false
			}
		case c.ArgIs(i, "LIMIT") && more:
			i++
			if o.trim.AtMost, ok = c.Int(i); !ok {
				return false
			}
			if o.trim.AtMost < 0 {
				c.Err("ERR The LIMIT argument must be >= 0.")
				return false
			}
			o.limitSet = true
		case add && c.ArgIs(i, "NOMKSTREAM"):
			o.noMake = true
		case add:
			if o.id, o.autoSeq, ok = parseID(word, 0, false); !ok {
				c.Err(errStreamID)
				return false
			}
			o.idGiven = true
			return o.endAt(c, i, add)
		default:
			c.Err(engine.ErrSyntax)
			return false
		}
	}
	return o.endAt(c, i, add)
}

// parseBound reads MAXLEN or MINID with what follows from argument i on, and returns its last argument.
func (o *addOptions) parseBound(c *engine.Ctx, i int, byID bool) (last int, ok bool) {
	if o.trims {
		c.Err(errTrimTwice)
		return i, false
	}
	o.trim.Approx = false
	if word := c.Args[i+1]; i+2 < len(c.Args) && len(word) == 1 && (word[0] == '~' || word[0] == '=') {
		o.trim.Approx = word[0] == '~'
		i++
	}
	i++
	o.trim.ByID = byID
	if byID {
		o.trim.MinID, ok = idArg(c, i)
	} else if o.trim.MaxLen, ok = c.Int(i); ok && o.trim.MaxLen < 0 {
		c.Err("ERR The MAXLEN argument must be >= 0.")
		ok = false
	}
	o.trims, o.boundAt = ok, i
	return i, ok
}

const (
	nodesTrimmedMax   = 100     // a trim that is not exact takes no more nodes at once
	entriesTrimmedMin = 10000   // entries instead, when nodes have no bound
	entriesTrimmedMax = 1000000 // and never more
)

// endAt checks the options together; the ID is argument i.
func (o *addOptions) endAt(c *engine.Ctx, i int, add bool) bool {
	o.idAt = i
	switch {
	case o.trim.AtMost != 0 && !o.trims:
		c.Err("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
		return false
	case !add && !o.trims:
		c.Err("ERR syntax error, XTRIM must be called with a trimming strategy")
		return false
	case c.FromPrimary() || c.Engine().Loading():
		o.trim.AtMost = 0 // whoever trimmed first has rewritten the bound to what was really done
	case o.limitSet && !o.trim.Approx:
		c.Err("ERR syntax error, LIMIT cannot be used without the special ~ option")
		return false
	case !o.limitSet && o.trim.Approx:
		entries := c.Engine().Settings.Encoding.StreamNodes.Load()
		o.trim.AtMost = entriesTrimmedMax
		if entries <= entriesTrimmedMax/nodesTrimmedMax {
			o.trim.AtMost = nodesTrimmedMax * entries
		}
		if o.trim.AtMost <= 0 {
			o.trim.AtMost = entriesTrimmedMin
		}
	}
	return true
}

func cmdXAdd(c *engine.Ctx) {
	var o addOptions
	if !parseAdd(c, &o, true) {
		return
	}
	pairs := c.Args[min(o.idAt+1, len(c.Args)):]
	if len(pairs) < 2 || len(pairs)%2 != 0 {
		c.ArityErr()
		return
	}
	if o.idGiven && !o.autoSeq && o.id.IsZero() {
		c.Err("ERR The ID specified in XADD must be greater than 0-0")
		return
	}
	s, exists, ok := writeStream(c)
	if !ok {
		return
	}
	if !exists && o.noMake {
		c.Null()
		return
	}
	id, text := o.nextID(c, s, exists)
	if text == "" && pairsTooBig(pairs) {
		text = "ERR Elements are too large to be stored"
	}
	if text != "" {
		c.Err(text)
		return
	}
	if !exists {
		s = object.NewStream(c.Place(0))
	}
	s.Append(id, pairs, c.Engine().Settings.Encoding.StreamLimits())
	c.Changed(0)
	idText := id.AppendText(c.W.Scratch())
	c.Bulk(idText)
	c.Notify(config.EventStream, "xadd", 0)
	if !o.idGiven || o.autoSeq {
		c.ReplaceArg(o.idAt, idText) // replicas and the log get the ID
	}
	if o.trims {
		idText = o.trimAfterAdd(c, s, idText)
	}
	c.W.SetScratch(idText)
}

// nextID is the ID that the entry gets, or the reply when there is none.
func (o *addOptions) nextID(c *engine.Ctx, s stream.Stream, exists bool) (id stream.ID, text string) {
	var last stream.ID
	if exists {
		last = s.LastID()
	}
	if last == stream.MaxID() {
		return id, "ERR The stream has exhausted the last possible ID, unable to add more items"
	}
	switch {
	case !o.idGiven && uint64(c.Now) > last.Ms:
		id = stream.ID{Ms: uint64(c.Now)}
	case !o.idGiven:
		id, _ = last.Next()
	case o.autoSeq && o.id.Ms == last.Ms:
		if id, _ = last.Next(); id.Ms != last.Ms {
			id = stream.ID{} // no number is left in this millisecond
		}
	default:
		id = o.id
	}
	if !last.Less(id) {
		return id, "ERR The ID specified in XADD is equal or smaller than the target stream top item"
	}
	return id, ""
}

func pairsTooBig(pairs [][]byte) bool {
	size := 0
	for _, b := range pairs {
		size += len(b)
	}
	return size > stream.BytesMax
}

// trimAfterAdd trims, and makes a bound that is not exact say what was done. The text of it is put behind text.
func (o *addOptions) trimAfterAdd(c *engine.Ctx, s stream.Stream, text []byte) []byte {
	if object.TrimStream(c.Part(0), s, o.trim) > 0 {
		c.Notify(config.EventStream, "xtrim", 0)
	}
	return o.rewriteBound(c, s, text)
}

// rewriteBound puts the text of an exact bound behind text and, if the command's own is not exact, in its place.
func (o *addOptions) rewriteBound(c *engine.Ctx, s stream.Stream, text []byte) []byte {
	if !o.trim.Approx {
		return text
	}
	start := len(text)
	if o.trim.ByID {
		text = s.Edge().AppendText(text)
	} else {
		text = num.AppendInt(text, s.Len())
	}
	c.ReplaceArg(o.boundAt-1, wordExact)
	c.ReplaceArg(o.boundAt, text[start:])
	return text
}

var wordExact = []byte("=")

func cmdXTrim(c *engine.Ctx) {
	var o addOptions
	if !parseAdd(c, &o, false) {
		return
	}
	s, exists, ok := writeStream(c)
	if !ok {
		return
	}
	if !exists {
		c.ReplyInt(0)
		return
	}
	deleted := object.TrimStream(c.Part(0), s, o.trim)
	if deleted > 0 {
		c.W.SetScratch(o.rewriteBound(c, s, c.W.Scratch()))
		c.ChangedInPlace(0)
		c.CountChanges(int(deleted) - 1)
		c.Notify(config.EventStream, "xtrim", 0)
	}
	c.ReplyInt(deleted)
}
