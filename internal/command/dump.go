package command

import (
	"errors"
	"sync"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds DUMP and RESTORE.

func dumpHandlers(d Deps) map[string]engine.Handler {
	compressors := &sync.Pool{New: func() any { return new(checksum.LZF) }}
	return map[string]engine.Handler{
		"dump":           {Run: func(c *engine.Ctx) { cmdDump(c, compressors) }},
		"restore":        {Run: func(c *engine.Ctx) { cmdRestore(c, d.LogWarning) }},
		"restore-asking": {Run: func(c *engine.Ctx) { cmdRestore(c, d.LogWarning) }},
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
	lzf := compressors.Get().(*checksum.LZF)
	c.BulkMade(int(object.Weight(rec)), func(dst []byte) []byte {
		return rdb.AppendDumpFooter(object.AppendTyped(dst, rec, lzf), 0)
	})
	compressors.Put(lzf)
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

func cmdRestore(c *engine.Ctx, log func(string)) {
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
	body, err := checkDump(c, c.Args[3], log)
	if err != nil {
		c.Err(err.Error())
		return
	}
	if at != 0 && !o.absTTL {
		at += int64(c.Now)
		if at < 0 {
			at = 1<<63 - 1 // so far away that the sum does not fit
		}
	}
	if at != 0 && c.IsPast(at) && !c.Engine().Role.IsReplica() {
		if c.Delete(0) {
			c.Notify(config.EventGeneric, "del", 0)
			propagateServerDelete(c, 0)
		}
		c.OK()
		return
	}
	if putRestored(c, body, at, o, log) {
		c.OK()
	}
}

// The replies to a payload that is wrong.
var (
	errDumpFooter = errors.New("ERR DUMP payload version or checksum are wrong")
	errBadDump    = errors.New(engine.ErrBadDump)
)

// checkDump checks a payload from end to end, and returns the type and value in it. log hears what is wrong; it may be nil.
func checkDump(c *engine.Ctx, payload []byte, log func(string)) ([]byte, error) {
	verify := rdb.VerifyDump
	if c.Engine().Settings.SkipChecksums.Load() {
		verify = rdb.VerifyDumpUnsummed
	}
	body, err := verify(payload)
	if err != nil {
		return nil, errDumpFooter
	}
	if err := rdb.DecodeValue(body, rdb.Nop{}); err != nil {
		complain(log, err)
		return nil, errBadDump
	}
	return body, nil
}

// complain tells log what is wrong with a payload.
func complain(log func(string), err error) {
	if log != nil {
		log("RESTORE was given a damaged payload: " + rdb.Complaint(err))
	}
}

// putRestored sets key 0 and logs it with its time of expiry. false: the error has been replied, and the key is as it was.
// What only shows when the value is put together, log hears of.
func putRestored(c *engine.Ctx, body []byte, at int64, o restoreOptions, log func(string)) bool {
	part, key := c.Part(0), c.Key(0)
	_, existed := part.Find(c.DB(), key)
	var b object.Builder
	b.Begin(c.Place(0), at, limitsOf(c))
	if err := rdb.DecodeValue(body, &b); err != nil {
		b.Abort()
		complain(log, err)
		c.Err(engine.ErrBadDump)
		return false
	}
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
	if at == 0 || o.absTTL {
		return true // the command itself says it all
	}
	var digits [20]byte
	effect := append([][]byte{wordRestore, key.Bytes, num.AppendInt(digits[:0], at)}, c.Args[3:]...)
	c.Propagate(append(effect, wordAbsTTL)...)
	return true
}
