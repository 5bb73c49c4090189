package script

import (
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

func (vm *VM) openBit() {
	shift := func(f func(b uint32, n int) uint32) native {
		return func(c *call) { c.Return(signed(f(c.bits(0), int(c.bits(1)&31)))) }
	}
	fold := func(f func(a, b uint32) uint32) native {
		return func(c *call) {
			b := c.bits(0)
			for i := 1; i < c.n; i++ {
				b = f(b, c.bits(i))
			}
			c.Return(signed(b))
		}
	}
	vm.library("bit", map[string]native{
		"tobit":   func(c *call) { c.Return(signed(c.bits(0))) },
		"bnot":    func(c *call) { c.Return(signed(^c.bits(0))) },
		"bswap":   func(c *call) { c.Return(signed(bits.ReverseBytes32(c.bits(0)))) },
		"band":    fold(func(a, b uint32) uint32 { return a & b }),
		"bor":     fold(func(a, b uint32) uint32 { return a | b }),
		"bxor":    fold(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shift(func(b uint32, n int) uint32 { return b << n }),
		"rshift":  shift(func(b uint32, n int) uint32 { return b >> n }),
		"arshift": shift(func(b uint32, n int) uint32 { return uint32(int32(b) >> n) }),
		"rol":     shift(bits.RotateLeft32),
		"ror":     shift(func(b uint32, n int) uint32 { return bits.RotateLeft32(b, -n) }),
		"tohex":   bitToHex,
	})
}

func signed(b uint32) lua.LValue { return lua.LNumber(int32(b)) }

// bits are the low 32 bits of a number, rounded to a whole one.
func (c *call) bits(i int) uint32 {
	f := c.Num(i)
	return uint32(math.Float64bits(f + 6755399441055744)) // 2^52 + 2^51
}

func bitToHex(c *call) {
	b, n := c.bits(0), int32(8)
	if c.n > 1 {
		n = int32(c.bits(1))
	}
	digits := "0123456789abcdef"
	if n < 0 {
		n, digits = -n, "0123456789ABCDEF"
	}
	if n > 8 || n < 0 {
		n = 8
	}
	var out [8]byte
	for i := n - 1; i >= 0; i-- {
		out[i] = digits[b&15]
		b >>= 4
	}
	c.Return(lua.LString(out[:n]))
}
