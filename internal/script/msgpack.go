package script

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// This file is the library cmsgpack: MessagePack.

// packDepthMax is the nesting from which tables are written as nil.
const packDepthMax = 16

func (vm *VM) openMsgpack() {
	t := vm.library("cmsgpack", map[string]native{
		"pack": msgpackPack, "unpack": msgpackUnpack, "unpack_one": msgpackUnpackOne, "unpack_limit": msgpackUnpackLimit,
	})
	t.RawSetString("_NAME", lua.LString("cmsgpack"))
	t.RawSetString("_VERSION", lua.LString("lua-cmsgpack 0.4.0"))
	t.RawSetString("_COPYRIGHT", lua.LString("Copyright (C) 2012, Redis Ltd."))
	t.RawSetString("_DESCRIPTION", lua.LString("MessagePack C implementation for Lua"))
}

func msgpackPack(c *call) {
	if c.n == 0 {
		c.BadArg(-1, "MessagePack pack needs input.")
	}
	p := packer{c: c}
	for i := range c.n {
		p.value(c.Arg(i), 0)
	}
	c.Return(c.NewString(string(p.out)))
}

type packer struct {
	c   *call
	out []byte
}

func (p *packer) value(v lua.LValue, level int) {
	p.c.Burn()
	switch x := v.(type) {
	case lua.LString:
		p.bytes(string(x))
	case lua.LNumber:
		p.number(float64(x))
	case lua.LBool:
		if x {
			p.out = append(p.out, 0xc3)
		} else {
			p.out = append(p.out, 0xc2)
		}
	case *lua.LTable:
		if level == packDepthMax {
			p.out = append(p.out, 0xc0)
			return
		}
		p.table(p.c.vm.unwrap(x), level)
	default:
		p.out = append(p.out, 0xc0)
	}
}

// head writes a length in the shortest form: small up to its limit, or one of the codes with 1, 2 or 4 bytes behind it.
func (p *packer) head(n int, small byte, smallMax int, one, two, four byte) {
	switch {
	case n <= smallMax:
		p.out = append(p.out, small|byte(n))
	case one != 0 && n <= 0xff:
		p.out = append(p.out, one, byte(n))
	case n <= 0xffff:
		p.out = binary.BigEndian.AppendUint16(append(p.out, two), uint16(n))
	default:
		p.out = binary.BigEndian.AppendUint32(append(p.out, four), uint32(n))
	}
}

func (p *packer) bytes(s string) {
	if len(p.out)+len(s) > stringMax {
		p.c.Fail("string length overflow")
	}
	p.c.vm.charge(len(s))
	p.head(len(s), 0xa0, 31, 0xd9, 0xda, 0xdb)
	p.out = append(p.out, s...)
}

func (p *packer) number(f float64) {
	if f == math.Trunc(f) && f >= -9223372036854775808 && f < 9223372036854775808 {
		p.integer(int64(f))
		return
	}
	if f == float64(float32(f)) {
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xca), math.Float32bits(float32(f)))
		return
	}
	p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcb), math.Float64bits(f))
}

func (p *packer) integer(n int64) {
	switch {
	case n >= -32 && n <= 127:
		p.out = append(p.out, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		p.out = append(p.out, 0xcc, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xcd), uint16(n))
	case n >= 0 && n <= math.MaxUint32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xce), uint32(n))
	case n >= 0:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcf), uint64(n))
	case n >= math.MinInt8:
		p.out = append(p.out, 0xd0, byte(n))
	case n >= math.MinInt16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xd1), uint16(n))
	case n >= math.MinInt32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xd2), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xd3), uint64(n))
	}
}

func (p *packer) table(t *lua.LTable, level int) {
	count, most, array := 0, 0.0, true
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		count++
		n, ok := k.(lua.LNumber)
		if !ok || n <= 0 || float64(n) != math.Trunc(float64(n)) || n > math.MaxInt32 {
			array = false
		} else {
			most = max(most, float64(n))
		}
	}
	if array && int(most) == count {
		p.head(count, 0x90, 15, 0, 0xdc, 0xdd)
		for i := 1; i <= count; i++ {
			p.value(t.RawGet(num(i)), level+1)
		}
		return
	}
	p.head(count, 0x80, 15, 0, 0xde, 0xdf)
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		p.value(k, level+1)
		p.value(v, level+1)
	}
}

func msgpackUnpack(c *call) { c.unpack(0, 0, true) }

func msgpackUnpackOne(c *call) { c.unpack(1, c.OptInt(1, 0), false) }

func msgpackUnpackLimit(c *call) {
	limit := c.Int(1)
	c.unpack(limit, c.OptInt(2, 0), false)
}

func (c *call) unpack(limit, offset int, everything bool) {
	s := c.Str(0)
	if !everything && limit == 0 && offset == 0 {
		everything = true
	}
	switch {
	case offset < 0 || limit < 0:
		c.Fail("Invalid request to unpack with offset of %d and limit of %d.", offset, len(s))
	case offset > len(s):
		c.Fail("Start offset %d greater than input length %d.", offset, len(s))
	}
	u := unpacker{c: c, in: s, at: offset}
	var list []lua.LValue
	for u.at < len(s) && (everything || len(list) < limit) {
		if len(list) >= unpackMax {
			c.Fail("stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)")
		}
		list = append(list, u.value(0))
	}
	if !everything {
		next := u.at
		if u.at == len(s) {
			next = -1
		}
		c.push(num(next))
	}
	for _, v := range list {
		c.push(v)
	}
}

type unpacker struct {
	c  *call
	in string
	at int
}

func (u *unpacker) take(n int) []byte {
	if n > len(u.in)-u.at {
		u.c.Fail("Missing bytes in input.")
	}
	u.at += n
	return []byte(u.in[u.at-n : u.at])
}

func (u *unpacker) uint(n int) uint64 {
	x := uint64(0)
	for _, b := range u.take(n) {
		x = x<<8 | uint64(b)
	}
	return x
}

func (u *unpacker) bytes(n int) lua.LValue {
	if n > len(u.in)-u.at {
		u.c.Fail("Missing bytes in input.")
	}
	u.at += n
	return u.c.NewString(u.in[u.at-n : u.at])
}

// unpackDepthMax bounds nesting: each level is a step of Go's stack.
const unpackDepthMax = 10_000

func (u *unpacker) value(depth int) lua.LValue {
	u.c.Burn()
	if depth > unpackDepthMax {
		u.c.Fail("stack overflow (in function mp_decode_to_lua_array)")
	}
	b := u.take(1)[0]
	switch {
	case b < 0x80:
		return num(int(b))
	case b >= 0xe0:
		return num(int(int8(b)))
	case b >= 0xa0 && b < 0xc0:
		return u.bytes(int(b & 0x1f))
	case b >= 0x90 && b < 0xa0:
		return u.array(int(b&0xf), depth)
	case b < 0x90:
		return u.hash(int(b&0xf), depth)
	}
	switch b {
	case 0xc0:
		return lua.LNil
	case 0xc2, 0xc3:
		return lua.LBool(b == 0xc3)
	case 0xcc, 0xcd, 0xce, 0xcf:
		return lua.LNumber(int64(u.uint(1 << (b - 0xcc)))) // the largest become negative, as the integers of Lua do
	case 0xd0:
		return lua.LNumber(int8(u.uint(1)))
	case 0xd1:
		return lua.LNumber(int16(u.uint(2)))
	case 0xd2:
		return lua.LNumber(int32(u.uint(4)))
	case 0xd3:
		return lua.LNumber(int64(u.uint(8)))
	case 0xca:
		return lua.LNumber(math.Float32frombits(uint32(u.uint(4))))
	case 0xcb:
		return lua.LNumber(math.Float64frombits(u.uint(8)))
	case 0xd9, 0xda, 0xdb:
		return u.bytes(int(u.uint(1 << (b - 0xd9))))
	case 0xdc, 0xdd:
		return u.array(int(u.uint(2<<(b-0xdc))), depth)
	case 0xde, 0xdf:
		return u.hash(int(u.uint(2<<(b-0xde))), depth)
	}
	u.c.Fail("Bad data format in input.")
	return nil
}

func (u *unpacker) array(n, depth int) lua.LValue {
	t := u.c.L.NewTable()
	for i := 1; i <= n; i++ {
		u.c.vm.charge(elementBytes)
		v := u.value(depth + 1)
		if v != lua.LNil {
			u.c.vm.set(t, num(i), v)
		}
	}
	return t
}

func (u *unpacker) hash(n, depth int) lua.LValue {
	t := u.c.L.NewTable()
	for range n {
		u.c.vm.charge(4 * elementBytes)
		k := u.value(depth + 1)
		v := u.value(depth + 1)
		if k == lua.LNil {
			u.c.Fail("table index is nil")
		}
		u.c.vm.set(t, k, v)
	}
	return t
}
