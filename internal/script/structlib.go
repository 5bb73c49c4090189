package script

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file is the library struct: packing values as C lays them out.

const integerSizeMax = 32 // bytes

func (vm *VM) openStruct() {
	vm.library("struct", map[string]native{"pack": structPack, "unpack": structUnpack, "size": structSize})
}

// layout walks a format.
type layout struct {
	c     *call
	fmt   string
	at    int
	big   bool
	align int
}

// number reads digits, or gives the default.
func (l *layout) number(def int) int {
	if l.at >= len(l.fmt) || !isDigit(l.fmt[l.at]) {
		return def
	}
	n := 0
	for ; l.at < len(l.fmt) && isDigit(l.fmt[l.at]); l.at++ {
		if n = n*10 + int(l.fmt[l.at]-'0'); n > math.MaxInt32 {
			l.c.Fail("integral size overflow")
		}
	}
	return n
}

// next is the next option with its size and the bytes that align it; false at the end.
func (l *layout) next(pos int) (opt byte, size, pad int, ok bool) {
	if l.at >= len(l.fmt) || l.fmt[l.at] == 0 {
		return 0, 0, 0, false
	}
	opt = l.fmt[l.at]
	l.at++
	switch opt {
	case 'B', 'b', 'x':
		size = 1
	case 'H', 'h':
		size = 2
	case 'L', 'l', 'T', 'd':
		size = 8
	case 'f':
		size = 4
	case 'c':
		size = l.number(1)
	case 'i', 'I':
		if size = l.number(4); size > integerSizeMax {
			l.c.Fail("integral size %d is larger than limit of %d", size, integerSizeMax)
		}
	}
	if size > 0 && opt != 'c' {
		step := min(size, l.align)
		pad = (step - pos&(step-1)) & (step - 1)
	}
	return opt, size, pad, true
}

// control is an option about the layout.
func (l *layout) control(opt byte) {
	switch opt {
	case ' ':
	case '>':
		l.big = true
	case '<':
		l.big = false
	case '!':
		n := l.number(8)
		if n <= 0 || n&(n-1) != 0 {
			l.c.Fail("alignment %d is not a power of 2", n)
		}
		l.align = n
	default:
		l.c.BadArg(0, "invalid format option '"+string([]byte{opt})+"'")
	}
}

func isIntegerOption(opt byte) bool { return strings.IndexByte("bBhHlLTiI", opt) >= 0 }

func structPack(c *call) {
	l := layout{c: c, fmt: c.Str(0), align: 1}
	var out []byte
	arg := 1
	c.L.Push(lua.LNil) // the first argument that is missing counts as nil
	c.n++
	for {
		opt, size, pad, ok := l.next(len(out))
		if !ok {
			break
		}
		c.Burn()
		if opt == 'c' && len(c.Str(arg)) < size {
			c.BadArg(arg+1, "string too short")
		}
		if len(out)+pad+size > stringMax {
			c.Fail("string length overflow")
		}
		c.vm.charge(size)
		out = append(out, make([]byte, pad)...)
		switch {
		case isIntegerOption(opt):
			out = l.putInteger(out, c.Num(arg), size)
			arg++
		case opt == 'x':
			out = append(out, 0)
		case opt == 'f':
			out = l.order(binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(c.Num(arg)))), size)
			arg++
		case opt == 'd':
			out = l.order(binary.LittleEndian.AppendUint64(out, math.Float64bits(c.Num(arg))), size)
			arg++
		case opt == 'c' || opt == 's':
			s := c.Str(arg)
			arg++
			if size == 0 {
				size = len(s)
			}
			out = append(out, s[:size]...)
			if opt == 's' {
				out = append(out, 0)
			}
		default:
			l.control(opt)
		}
	}
	c.Return(c.NewString(string(out)))
}

// order turns the last n bytes round when the order is big-endian.
func (l *layout) order(b []byte, n int) []byte {
	if l.big {
		slices.Reverse(b[len(b)-n:])
	}
	return b
}

func (l *layout) putInteger(out []byte, f float64, size int) []byte {
	v := toUint(f)
	for i := range size {
		if i < 8 {
			out = append(out, byte(v>>(8*i)))
		} else {
			out = append(out, 0)
		}
	}
	return l.order(out, size)
}

func (l *layout) getInteger(s string, sign bool) float64 {
	v := uint64(0)
	for i := range len(s) {
		b := s[len(s)-1-i]
		if l.big {
			b = s[i]
		}
		v = v<<8 | uint64(b)
	}
	if !sign {
		return float64(v)
	}
	if n := len(s); n > 0 && n < 8 && v>>(8*n-1)&1 == 1 {
		v |= ^uint64(0) << (8*n - 1)
	}
	return float64(int64(v))
}

func structUnpack(c *call) {
	l := layout{c: c, fmt: c.Str(0), align: 1}
	data := c.Str(1)
	pos := c.OptInt(2, 1)
	switch {
	case pos == 0:
		c.BadArg(2, "offset must be 1 or greater")
	case pos < 0:
		pos = math.MaxInt // the reference implementation has offsets without sign
	}
	pos--
	var list []lua.LValue
	for {
		opt, size, pad, ok := l.next(pos)
		if !ok {
			break
		}
		pos += pad
		if size > len(data) || pos > len(data)-size {
			c.BadArg(1, "data string too short")
		}
		if len(list) >= unpackMax {
			c.Fail("stack overflow (too many results)")
		}
		c.Burn()
		switch {
		case isIntegerOption(opt):
			list = append(list, lua.LNumber(l.getInteger(data[pos:pos+size], opt >= 'a')))
		case opt == 'x':
		case opt == 'f' || opt == 'd':
			list = append(list, l.getFloat(data[pos:pos+size]))
		case opt == 'c':
			if size == 0 {
				size, list = c.sizeBefore(list, len(data)-pos)
			}
			list = append(list, c.NewString(data[pos:pos+size]))
		case opt == 's':
			i := strings.IndexByte(data[pos:], 0)
			if i < 0 {
				c.Fail("unfinished string in data")
			}
			list = append(list, c.NewString(data[pos:pos+i]))
			size = i + 1
		default:
			l.control(opt)
		}
		pos += size
	}
	for _, v := range list {
		c.push(v)
	}
	c.push(num(pos + 1))
}

// sizeBefore takes the number that was read last as the size of a string.
func (c *call) sizeBefore(list []lua.LValue, room int) (int, []lua.LValue) {
	if len(list) == 0 {
		c.Fail("format 'c0' needs a previous size")
	}
	f, ok := toNumber(list[len(list)-1])
	if !ok {
		c.Fail("format 'c0' needs a previous size")
	}
	if f < 0 || f > float64(room) {
		c.BadArg(1, "data string too short")
	}
	return int(f), list[:len(list)-1]
}

func (l *layout) getFloat(s string) lua.LValue {
	b := l.order([]byte(s), len(s))
	if len(b) == 4 {
		return lua.LNumber(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return lua.LNumber(math.Float64frombits(binary.LittleEndian.Uint64(b)))
}

func structSize(c *call) {
	l := layout{c: c, fmt: c.Str(0), align: 1}
	pos := 0
	for {
		opt, size, pad, ok := l.next(pos)
		if !ok {
			break
		}
		switch {
		case opt == 's':
			c.BadArg(0, "option 's' has no fixed size")
		case opt == 'c' && size == 0:
			c.BadArg(0, "option 'c0' has no fixed size")
		}
		if !isAlpha(opt) && !isDigit(opt) {
			l.control(opt)
		}
		pos += pad + size
	}
	c.Return(num(pos))
}
