package command

import (
	"bytes"
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
)

// This file holds the commands that look at strings as bits: single ones, their number and their positions. Bit 0 is the
// highest of the first byte. Behind the end of a string, and where there is none, all bits are 0.

func bitHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"setbit":      {Run: cmdSetBit},
		"getbit":      {Run: cmdGetBit},
		"bitcount":    {Run: cmdBitCount},
		"bitpos":      {Run: cmdBitPos},
		"bitop":       {Run: cmdBitOp},
		"bitfield":    {Run: func(c *engine.Ctx) { bitField(c, false) }},
		"bitfield_ro": {Run: func(c *engine.Ctx) { bitField(c, true) }},
	}
}

const (
	errBitOffset = "ERR bit offset is not an integer or out of range"
	errBitValue  = "ERR bit is not an integer or out of range"

	// offsetFromPrimaryMax bounds the offset of a bit, in bytes, in what a primary sends: its proto-max-bulk-len may be
	// higher than ours.
	offsetFromPrimaryMax = 1 << 35
)

// bitOffset reads argument i as the position of a bit. With a width "#n" is the n-th field of that width. false when the
// error has been replied.
func bitOffset(c *engine.Ctx, i int, width int64) (offset int64, ok bool) {
	text := c.Args[i]
	counted := width > 0 && len(text) > 0 && text[0] == '#'
	if counted {
		text = text[1:]
	}
	offset, ok = num.ParseInt(text)
	if counted {
		ok = ok && offset <= math.MaxInt64/width // Redis would take what is left of the product
		offset *= width
	}
	limit := c.Engine().Settings.MaxBulk.Load()
	if c.FromPrimary() {
		limit = max(limit, offsetFromPrimaryMax)
	}
	if !ok || offset < 0 || offset>>3 >= limit {
		c.Err(errBitOffset)
		return 0, false
	}
	return offset, true
}

// bitString makes the string of the first key at least n bytes long and returns its bytes, which may be changed in place.
// grown says that the key is new or was shorter; ok is false when the error has been replied.
func bitString(c *engine.Ctx, n int) (value []byte, grown, ok bool) {
	rec, exists, ok := c.WriteString(0)
	if !ok {
		return nil, false, false
	}
	if exists && rec.Encoding() == keyspace.EncRaw && len(rec.Value()) >= n {
		rec, _ = c.Part(0).FindForWrite(c.DB(), c.Key(0))
		return rec.Value(), false, true
	}
	old := 0
	if exists {
		old = len(c.StringBytes(rec))
	} else {
		c.Part(0).PutInline(c.DB(), c.Key(0), keyspace.TypeString, keyspace.EncRaw, nil, 0)
	}
	return rawValue(c, max(old, n), exists && n > old), !exists || n > old, true
}

func cmdSetBit(c *engine.Ctx) {
	offset, ok := bitOffset(c, 2, 0)
	if !ok {
		return
	}
	on, ok := c.IntBetween(3, 0, 1, errBitValue)
	if !ok {
		return
	}
	value, grown, ok := bitString(c, int(offset>>3)+1)
	if !ok {
		return
	}
	cell, shift := &value[offset>>3], 7-offset&7
	was := int64(*cell >> shift & 1)
	if grown || was != on {
		*cell = *cell&^(1<<shift) | byte(on)<<shift
		c.Changed(0)
		c.Notify(config.EventString, "setbit", 0)
	}
	c.ReplyInt(was)
}

func cmdGetBit(c *engine.Ctx) {
	offset, ok := bitOffset(c, 2, 0)
	if !ok {
		return
	}
	rec, exists, ok := c.ReadString(0)
	if !ok {
		return
	}
	bit := byte(0)
	if exists {
		if value := c.StringBytes(rec); offset>>3 < int64(len(value)) {
			bit = value[offset>>3] >> (7 - offset&7) & 1
		}
	}
	c.ReplyInt(int64(bit))
}

// bitRange is a range of bits, both ends included; empty if from is behind to.
type bitRange struct{ from, to int64 }

// bitUnit reads argument i as BIT or BYTE; false when the error has been replied.
func bitUnit(c *engine.Ctx, i int) (inBits, ok bool) {
	switch {
	case c.ArgIs(i, "BIT"):
		return true, true
	case c.ArgIs(i, "BYTE"):
		return false, true
	}
	c.Err(engine.ErrSyntax)
	return false, false
}

// within turns a range of bytes or bits, where negative positions count from the end, into bits of a string of n bytes.
func within(start, end, n int64, inBits bool) bitRange {
	if inBits {
		n *= 8
	}
	if start < 0 {
		start = max(0, n+start)
	}
	if end < 0 {
		end = max(0, n+end)
	}
	end = min(end, n-1)
	if start > end {
		return bitRange{0, -1}
	}
	if inBits {
		return bitRange{start, end}
	}
	return bitRange{start * 8, end*8 + 7}
}

func cmdBitCount(c *engine.Ctx) {
	rec, exists, ok := c.ReadString(0)
	if !ok {
		return
	}
	if !exists {
		c.ReplyInt(0)
		return
	}
	value := c.StringBytes(rec)
	r := within(0, -1, int64(len(value)), false)
	switch len(c.Args) {
	case 2:
	case 4, 5:
		if r, ok = bitCountRange(c, int64(len(value))); !ok {
			return
		}
	default:
		c.Err(engine.ErrSyntax)
		return
	}
	c.ReplyInt(countBits(value, r))
}

// bitCountRange reads the range of BITCOUNT; false when the error has been replied.
func bitCountRange(c *engine.Ctx, n int64) (r bitRange, ok bool) {
	start, ok := c.Int(2)
	if !ok {
		return r, false
	}
	end, ok := c.Int(3)
	if !ok {
		return r, false
	}
	if start < 0 && end < 0 && start > end { // before the unit is looked at
		return bitRange{0, -1}, true
	}
	inBits := false
	if len(c.Args) == 5 {
		if inBits, ok = bitUnit(c, 4); !ok {
			return r, false
		}
	}
	return within(start, end, n, inBits), true
}

func cmdBitPos(c *engine.Ctx) {
	bit, ok := c.Int(2)
	if !ok {
		return
	}
	if bit != 0 && bit != 1 {
		c.Err("ERR The bit argument must be 1 or 0.")
		return
	}
	rec, exists, ok := c.ReadString(0)
	if !ok {
		return
	}
	if !exists {
		c.ReplyInt(-bit)
		return
	}
	value := c.StringBytes(rec)
	r, ok := bitPosRange(c, int64(len(value)))
	if !ok {
		return
	}
	pos := findBit(value, r, bit == 1)
	if pos < 0 && bit == 0 && len(c.Args) < 5 && r.from <= r.to {
		pos = int64(len(value)) * 8 // no end was given: the zeros behind the string count
	}
	c.ReplyInt(pos)
}

// bitPosRange reads the range of BITPOS; false when the error has been replied.
func bitPosRange(c *engine.Ctx, n int64) (r bitRange, ok bool) {
	start, end, inBits := int64(0), int64(math.MaxInt64), false
	if len(c.Args) > 6 {
		c.Err(engine.ErrSyntax)
		return r, false
	}
	if len(c.Args) >= 4 {
		if start, ok = c.Int(3); !ok {
			return r, false
		}
	}
	if len(c.Args) == 6 {
		if inBits, ok = bitUnit(c, 5); !ok {
			return r, false
		}
	}
	if len(c.Args) >= 5 {
		if end, ok = c.Int(4); !ok {
			return r, false
		}
	}
	return within(start, end, n, inBits), true
}

// cutAtZero is what C takes for the text: nothing behind a zero byte.
func cutAtZero(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
