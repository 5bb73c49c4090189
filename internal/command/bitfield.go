package command

import (
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
)

// This file holds BITFIELD and BITFIELD_RO: integers of 1 to 64 bits anywhere in a string.

const (
	errFieldType = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
	errOverflow  = "ERR Invalid OVERFLOW type specified"
	errFieldRO   = "ERR BITFIELD_RO only supports the GET subcommand"
)

// overflow is what happens when a number does not fit into its field.
type overflow uint8

const (
	overflowWrap overflow = iota
	overflowSat
	overflowFail
)

// fieldOp is one GET, SET or INCRBY.
type fieldOp struct {
	kind     fieldKind
	signed   bool
	width    uint
	offset   int64
	argument int64 // the new value, or what is added
	overflow overflow
}

type fieldKind uint8

const (
	fieldGet fieldKind = iota
	fieldSet
	fieldAdd
)

// fieldOps reads the operations of a command, one after the other. The arguments are read twice rather than kept.
type fieldOps struct {
	c        *engine.Ctx
	at       int // the next argument
	overflow overflow
}

// next reads an operation. more is false behind the last one; ok is false when the error has been replied.
func (p *fieldOps) next() (op fieldOp, more, ok bool) {
	c := p.c
	for p.at < len(c.Args) {
		left := len(c.Args) - p.at - 1
		switch {
		case c.ArgIs(p.at, "GET") && left >= 2:
			return p.field(fieldGet)
		case c.ArgIs(p.at, "SET") && left >= 3:
			return p.field(fieldSet)
		case c.ArgIs(p.at, "INCRBY") && left >= 3:
			return p.field(fieldAdd)
		case c.ArgIs(p.at, "OVERFLOW") && left >= 1:
			if !p.readOverflow() {
				return op, false, false
			}
		default:
			c.Err(engine.ErrSyntax)
			return op, false, false
		}
	}
	return op, false, true
}

func (p *fieldOps) readOverflow() bool {
	switch {
	case p.c.ArgIs(p.at+1, "WRAP"):
		p.overflow = overflowWrap
	case p.c.ArgIs(p.at+1, "SAT"):
		p.overflow = overflowSat
	case p.c.ArgIs(p.at+1, "FAIL"):
		p.overflow = overflowFail
	default:
		p.c.Err(errOverflow)
		return false
	}
	p.at += 2
	return true
}

// field reads type, offset and argument of an operation.
func (p *fieldOps) field(kind fieldKind) (op fieldOp, more, ok bool) {
	op = fieldOp{kind: kind, overflow: p.overflow}
	if op.signed, op.width, ok = fieldType(p.c, p.at+1); !ok {
		return op, false, false
	}
	if op.offset, ok = bitOffset(p.c, p.at+2, int64(op.width)); !ok {
		return op, false, false
	}
	p.at += 3
	if kind != fieldGet {
		if op.argument, ok = p.c.Int(p.at); !ok {
			return op, false, false
		}
		p.at++
	}
	return op, true, true
}

// fieldType reads "i1" to "i64" or "u1" to "u63".
func fieldType(c *engine.Ctx, i int) (signed bool, width uint, ok bool) {
	text := cutAtZero(c.Args[i])
	if len(text) == 0 || text[0] != 'i' && text[0] != 'u' {
		c.Err(errFieldType)
		return false, 0, false
	}
	signed = text[0] == 'i'
	most := int64(63)
	if signed {
		most = 64
	}
	n, ok := num.ParseInt(text[1:])
	if !ok || n < 1 || n > most {
		c.Err(errFieldType)
		return false, 0, false
	}
	return signed, uint(n), true
}

func bitField(c *engine.Ctx, readOnly bool) {
	count, lastBit := 0, int64(-1)
	for p := (fieldOps{c: c, at: 2}); ; count++ {
		op, more, ok := p.next()
		if !ok {
			return
		}
		if !more {
			break
		}
		if op.kind != fieldGet {
			lastBit = max(lastBit, op.offset+int64(op.width)-1)
		}
	}
	switch {
	case lastBit < 0:
		readFields(c, count)
	case readOnly:
		c.Err(errFieldRO)
	default:
		changeFields(c, count, lastBit)
	}
}

func readFields(c *engine.Ctx, count int) {
	rec, exists, ok := c.ReadString(0)
	if !ok {
		return
	}
	var value []byte
	if exists {
		value = c.StringBytes(rec)
	}
	c.Array(count)
	for p := (fieldOps{c: c, at: 2}); ; {
		op, more, _ := p.next()
		if !more {
			return
		}
		c.ReplyInt(op.read(value))
	}
}

func changeFields(c *engine.Ctx, count int, lastBit int64) {
	value, grown, ok := bitString(c, int(lastBit>>3)+1)
	if !ok {
		return
	}
	c.Array(count)
	changes := 0
	for p := (fieldOps{c: c, at: 2}); ; {
		op, more, _ := p.next()
		if !more {
			break
		}
		old := op.read(value)
		if op.kind == fieldGet {
			c.ReplyInt(old)
			continue
		}
		fresh, fits := op.result(old)
		if !fits && op.overflow == overflowFail {
			c.Null()
			continue
		}
		setField(value, op.offset, op.width, uint64(fresh))
		if grown || fresh != old {
			changes++
		}
		if op.kind == fieldAdd {
			old = fresh
		}
		c.ReplyInt(old)
	}
	switch {
	case changes > 0:
		c.Changed(0)
		c.CountChanges(changes - 1)
		c.Notify(config.EventString, "setbit", 0)
	case grown: // only by zeros, but replicas must have them too
		c.Changed(0)
	}
}

// read is the number in the field. An unsigned one has at most 63 bits.
func (op *fieldOp) read(value []byte) int64 {
	field := getField(value, op.offset, op.width)
	if op.signed {
		unused := 64 - op.width
		return int64(field<<unused) >> unused
	}
	return int64(field)
}

// result is what the field is to hold instead of old. fits is false when that is not the true result but what is in range
// or left of it.
func (op *fieldOp) result(old int64) (n int64, fits bool) {
	value, added := old, op.argument
	if op.kind == fieldSet {
		value, added = op.argument, 0
	}
	low, high, above, below := op.unsignedRange(value, added)
	if op.signed {
		low, high, above, below = op.signedRange(value, added)
	}
	sum := value + added
	switch {
	case !above && !below:
		return sum, true
	case op.overflow == overflowSat && above:
		return high, false
	case op.overflow == overflowSat:
		return low, false
	}
	unused := 64 - op.width
	if op.signed {
		return int64(uint64(sum)<<unused) >> unused, false
	}
	return int64(uint64(sum) << unused >> unused), false
}

// unsignedRange is the range of an unsigned field, and whether value plus added is above or below it. A value that is set
// and is negative is a huge one.
func (op *fieldOp) unsignedRange(value, added int64) (low, high int64, above, below bool) {
	high = math.MaxInt64 >> (63 - op.width)
	above = value < 0 || value > high || added > 0 && added > high-value
	return 0, high, above, !above && added < -value
}

// signedRange is the same for a signed field. A value that is set and is so low that the way up to the range has more than
// 63 bits counts as above, because it does in Redis.
func (op *fieldOp) signedRange(value, added int64) (low, high int64, above, below bool) {
	high = math.MaxInt64 >> (64 - op.width)
	low = -high - 1
	up, down := high-value, low-value // these may overflow
	if op.width == 64 {
		return low, high, value >= 0 && added > up, value < 0 && added < down
	}
	above = value > high || added > up
	return low, high, above, !above && (value < low || added < down)
}
