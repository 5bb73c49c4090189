package command

import (
	"slices"
	"sync"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds DUMP and RESTORE.

func dumpHandlers(d Deps) map[string]engine.Handler {
	compressors := &sync.Pool{New: func() any { return new(checksum.LZF) }}
	restorers := &sync.Pool{New: func() any { return &restorer{log: d.LogWarning, compressors: compressors} }}
	restore := func(c *engine.Ctx) {
		r := restorers.Get().(*restorer)
		cmdRestore(c, r)
		restorers.Put(r)
	}
	return map[string]engine.Handler{
		"dump":           {Run: func(c *engine.Ctx) { cmdDump(c, compressors) }},
		"restore":        {Run: restore},
		"restore-asking": {Run: restore},
	}
}

const (
	errIdleRange = "ERR Invalid IDLETIME value, must be >= 0"
	errFreqRange = "ERR Invalid FREQ value, must be >= 0 and <= 255"
	errTTLRange  = "ERR Invalid TTL value, must be >= 0"
)

var (
	wordRestore = []byte("RESTORE")
	wordAbsTTL  = []byte("ABSTTL")
)

func cmdDump(c *engine.Ctx, compressors *sync.Pool) {
	rec, ok := c.Find(0)
	if !ok {
		c.Null()
		return
	}
	c.BulkMade(int(object.Weight(rec)), func(dst []byte) []byte {
		return appendDump(dst, rec, compressors)
	})
}

// appendDump appends the payload of a value to an empty buffer.
func appendDump(dst []byte, rec keyspace.Rec, compressors *sync.Pool) []byte {
	lzf := compressors.Get().(*checksum.LZF)
	defer compressors.Put(lzf)
	return rdb.AppendDumpFooter(object.AppendTyped(dst, rec, lzf), 0)
}

// restoreOptions are the words behind RESTORE key ttl payload.
type restoreOptions struct {
	replace, absTTL bool
	idle, freq      int64 // -1: not given
}

func parseRestore(c *engine.Ctx) (o restoreOptions, ok bool) {
	o.idle, o.freq = -1, -1
	for i := 4; i < len(c.Args); i++ {
		more := i+1 < len(c.Args)
		switch {
		case c.ArgIs(i, "REPLACE"):
			o.replace = true
		case c.ArgIs(i, "ABSTTL"):
			o.absTTL = true
		case c.ArgIs(i, "IDLETIME") && more && o.freq < 0:
			i++
			if o.idle, ok = numberWithin(c, i, 0, 1<<63-1, errIdleRange); !ok {
				return o, false
			}
		case c.ArgIs(i, "FREQ") && more && o.idle < 0:
			i++
			if o.freq, ok = numberWithin(c, i, 0, 255, errFreqRange); !ok {
				return o, false
			}
		default:
			c.Err(engine.ErrSyntax)
			return o, false
		}
	}
	return o, true
}

// numberWithin reads argument i as an integer in a range; text is the error when it is outside.
func numberWithin(c *engine.Ctx, i int, low, high int64, text string) (int64, bool) {
	n, ok := c.Int(i)
	if ok && (n < low || n > high) {
		c.Err(text)
		return 0, false
	}
	return n, ok
}

func cmdRestore(c *engine.Ctx, r *restorer) {
	o, ok := parseRestore(c)
	if !ok {
		return
	}
	_, exists := c.FindWrite(0)
	if exists && !o.replace {
		c.Err(engine.ErrBusyKey)
		return
	}
	at, ok := numberWithin(c, 2, 0, 1<<63-1, errTTLRange)
	if !ok {
		return
	}
	body, err := openDump(c, c.Args[3])
	if err != nil {
		c.Err(errDumpFooter)
		return
	}
	if at != 0 && !o.absTTL {
		at += int64(c.Now)
		if at < 0 {
			at = 1<<63 - 1 // so far away that the sum does not fit
		}
	}
	_, existed := c.Part(0).Find(c.DB(), c.Key(0))
	past := at != 0 && c.IsPast(at) && !c.Engine().Role.IsReplica()
	if past {
		err = r.check(body)
	} else {
		err = r.put(c, body, at)
	}
	switch {
	case err != nil:
		c.Err(engine.ErrBadDump)
		return
	case past:
		if c.Delete(0) {
			c.Notify(config.EventGeneric, "del", 0)
			propagateServerDelete(c, 0)
		}
	default:
		r.finish(c, existed, at, o)
	}
	c.OK()
}

// errDumpFooter is the reply to a payload whose end is wrong.
const errDumpFooter = "ERR DUMP payload version or checksum are wrong"

// openDump checks the end of a payload, and returns the type and value in it.
func openDump(c *engine.Ctx, payload []byte) ([]byte, error) {
	if c.Engine().Settings.SkipChecksums.Load() {
		return rdb.VerifyDumpUnsummed(payload)
	}
	return rdb.VerifyDump(payload)
}

// restorer makes values of payloads. It serves one command at a time and keeps its memory.
type restorer struct {
	decoder rdb.Decoder
	builder object.Builder
	log     func(string) // hears what is wrong with a payload; may be nil

	compressors *sync.Pool // of *checksum.LZF
}

// check is an error if a payload is damaged.
func (r *restorer) check(body []byte) error {
	return r.complain(r.decoder.DecodeValue(body, rdb.Nop{}))
}

// put sets key 0. After an error the key is as it was.
func (r *restorer) put(c *engine.Ctx, body []byte, at int64) error {
	r.builder.Begin(c.Place(0), at, limitsOf(c))
	err := r.decoder.DecodeValue(body, &r.builder)
	r.builder.Abort() // after an end nothing is left to be freed
	return r.complain(err)
}

// complain tells the log what is wrong with a payload.
func (r *restorer) complain(err error) error {
	if err != nil && r.log != nil {
		r.log("RESTORE was given a damaged payload: " + rdb.Complaint(err))
	}
	return err
}

// finish gives key 0 its clock and logs it with its time of expiry.
func (r *restorer) finish(c *engine.Ctx, existed bool, at int64, o restoreOptions) {
	part, key := c.Part(0), c.Key(0)
	clock, given := c.Engine().Evictor.Stamp(o.idle, o.freq, c.Now)
	if !given {
		clock = c.FreshLRU()
	}
	if rec, ok := part.Find(c.DB(), key); ok {
		rec.SetClock(clock)
	}
	c.Changed(0)
	if existed {
		c.Notify(config.EventNew, "new", 0)
	}
	c.Notify(config.EventGeneric, "restore", 0)
	if c.Logging() {
		r.propagate(c, at, o)
	}
}

// propagate logs what the command did where others could not repeat the command: it counts from now, or brings a payload that
// is too new for them.
func (r *restorer) propagate(c *engine.Ctx, at int64, o restoreOptions) {
	relative, newer := at != 0 && !o.absTTL, rdb.IsNewerDump(c.Args[3])
	if !relative && !newer {
		return
	}
	var digits [20]byte
	effect := slices.Clone(c.Args)
	effect[0] = wordRestore
	if relative {
		effect[2] = num.AppendInt(digits[:0], at)
		effect = append(effect, wordAbsTTL)
	}
	if rec, ok := c.Part(0).Find(c.DB(), c.Key(0)); ok && newer {
		effect[3] = appendDump(nil, rec, r.compressors)
	}
	c.Propagate(effect...)
}
