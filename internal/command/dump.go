package command

import (
	"errors"
	"sync"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds DUMP and RESTORE.

func dumpHandlers() map[string]engine.Handler {
	compressors := &sync.Pool{New: func() any { return new(checksum.LZF) }}
	return map[string]engine.Handler{
		"dump":           {Run: func(c *engine.Ctx) { cmdDump(c, compressors) }},
		"restore":        {Run: cmdRestore},
		"restore-asking": {Run: cmdRestore},
	}
}

const (
	errDumpFooter = "ERR DUMP payload version or checksum are wrong"
	errIdleRange  = "ERR Invalid IDLETIME value, must be >= 0"
	errFreqRange  = "ERR Invalid FREQ value, must be >= 0 and <= 255"
	errTTLRange   = "ERR Invalid TTL value, must be >= 0"
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
	payload := rdb.AppendDumpFooter(appendDumpValue(c.W.Scratch(), rec, lzf), 0)
	compressors.Put(lzf)
	c.Bulk(payload)
	c.W.SetScratch(payload)
}

// appendDumpValue writes the type and the value of a record.
func appendDumpValue(dst []byte, rec keyspace.Rec, lzf *checksum.LZF) []byte {
	invariant.That(rec.Type() == keyspace.TypeString, "command: a type without a form in DUMP")
	dst = rdb.AppendType(dst, rdb.TypeString)
	if rec.Encoding() == keyspace.EncInt {
		return rdb.AppendInt(dst, rec.Int())
	}
	return rdb.AppendString(dst, rec.Value(), lzf)
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

func cmdRestore(c *engine.Ctx) {
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
	var v restored
	if err := rdb.DecodeDump(c.Args[3], &v); err != nil {
		if errors.Is(err, rdb.ErrDumpFooter) {
			c.Err(errDumpFooter)
		} else {
			c.Err(engine.ErrBadDump)
		}
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
			propagateDelete(c, 0)
		}
		c.OK()
		return
	}
	putRestored(c, &v, at, o)
	c.OK()
}

// putRestored sets key 0 and logs it with its time of expiry.
func putRestored(c *engine.Ctx, v *restored, at int64, o restoreOptions) {
	part, key := c.Part(0), c.Key(0)
	if v.isInt {
		part.SetInt(c.DB(), key, v.number, at)
	} else {
		part.SetString(c.DB(), key, v.text, at)
	}
	clock, given := c.Engine().Evictor.Stamp(o.idle, o.freq, c.Now)
	if !given {
		clock = c.FreshLRU()
	}
	if rec, ok := part.Find(c.DB(), key); ok {
		rec.SetClock(clock)
	}
	c.Changed(0)
	if at == 0 || o.absTTL {
		return // the command itself says it all
	}
	var digits [20]byte
	effect := append([][]byte{wordRestore, key.Bytes, num.AppendInt(digits[:0], at)}, c.Args[3:]...)
	c.Propagate(append(effect, wordAbsTTL)...)
}

// restored collects the value of a payload.
type restored struct {
	rdb.Nop
	text   []byte
	number int64
	isInt  bool
}

// errOtherType refuses values that have no commands yet.
var errOtherType = errors.New("only strings can be restored")

// String implements rdb.ValueBuilder.
func (v *restored) String(text []byte) error {
	v.text = append([]byte(nil), text...)
	return nil
}

// Int implements rdb.ValueBuilder.
func (v *restored) Int(n int64) error {
	v.number, v.isInt = n, true
	return nil
}

func (v *restored) Packed(rdb.Packed) (bool, error) { return false, errOtherType }
func (v *restored) ListStart(uint64) error          { return errOtherType }
func (v *restored) SetStart(uint64) error           { return errOtherType }
func (v *restored) ZSetStart(uint64) error          { return errOtherType }
func (v *restored) HashStart(uint64) error          { return errOtherType }
func (v *restored) StreamStart() error              { return errOtherType }
func (v *restored) Module(rdb.ModuleID) error       { return errOtherType }
