package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

func (vm *VM) openMath() {
	one := func(f func(float64) float64) native {
		return func(c *call) { c.Return(lua.LNumber(f(c.Num(0)))) }
	}
	m := vm.library("math", map[string]native{
		"abs": one(math.Abs), "acos": one(math.Acos), "asin": one(math.Asin), "atan": one(math.Atan), "ceil": one(math.Ceil),
		"cos": one(math.Cos), "cosh": one(math.Cosh), "exp": one(math.Exp), "floor": one(math.Floor), "log": one(math.Log),
		"log10": one(math.Log10), "sin": one(math.Sin), "sinh": one(math.Sinh), "sqrt": one(math.Sqrt), "tan": one(math.Tan),
		"tanh":  one(math.Tanh),
		"deg":   one(func(f float64) float64 { return f / (math.Pi / 180) }),
		"rad":   one(func(f float64) float64 { return f * (math.Pi / 180) }),
		"atan2": func(c *call) { c.Return(lua.LNumber(math.Atan2(c.Num(0), c.Num(1)))) },
		"fmod":  func(c *call) { c.Return(lua.LNumber(math.Mod(c.Num(0), c.Num(1)))) },
		"mod":   func(c *call) { c.Return(lua.LNumber(math.Mod(c.Num(0), c.Num(1)))) },
		"pow":   func(c *call) { c.Return(lua.LNumber(math.Pow(c.Num(0), c.Num(1)))) },
		"ldexp": func(c *call) { c.Return(lua.LNumber(math.Ldexp(c.Num(0), max(-5000, min(5000, c.Int(1)))))) },
		"frexp": func(c *call) {
			f, e := math.Frexp(c.Num(0))
			c.Return(lua.LNumber(f), num(e))
		},
		"modf": mathModf, "max": mathMax, "min": mathMin, "random": mathRandom, "randomseed": mathSeed,
	})
	m.RawSetString("pi", lua.LNumber(math.Pi))
	m.RawSetString("huge", lua.LNumber(math.Inf(1)))
}

func mathModf(c *call) {
	f := c.Num(0)
	if math.IsInf(f, 0) {
		c.Return(lua.LNumber(f), lua.LNumber(0))
		return
	}
	whole := math.Trunc(f)
	c.Return(lua.LNumber(whole), lua.LNumber(f-whole))
}

func mathMax(c *call) {
	best := c.Num(0)
	for i := 1; i < c.n; i++ {
		if f := c.Num(i); f > best {
			best = f
		}
	}
	c.Return(lua.LNumber(best))
}

func mathMin(c *call) {
	best := c.Num(0)
	for i := 1; i < c.n; i++ {
		if f := c.Num(i); f < best {
			best = f
		}
	}
	c.Return(lua.LNumber(best))
}

// The generator of numbers is lrand48 as POSIX describes it, so that a seed gives the sequence it gives elsewhere.
const (
	randFactor = 0x5deece66d
	randAdd    = 0xb
	randMask   = 1<<48 - 1
	randMax    = 0x7fffffff
)

// Seed sets the state of math.random.
func (vm *VM) Seed(n uint64) { vm.rng = n & randMask }

func (vm *VM) random() float64 {
	vm.rng = (vm.rng*randFactor + randAdd) & randMask
	return float64((vm.rng>>17)%randMax) / randMax
}

func mathRandom(c *call) {
	r := c.vm.random()
	switch c.n {
	case 0:
		c.Return(lua.LNumber(r))
	case 1:
		u := int32(c.Int(0))
		if u < 1 {
			c.BadArg(0, "interval is empty")
		}
		c.Return(lua.LNumber(math.Floor(r*float64(u)) + 1))
	case 2:
		l, u := int32(c.Int(0)), int32(c.Int(1))
		if l > u {
			c.BadArg(1, "interval is empty")
		}
		c.Return(lua.LNumber(math.Floor(r*float64(u-l+1)) + float64(l)))
	default:
		c.Fail("wrong number of arguments")
	}
}

func mathSeed(c *call) {
	c.vm.rng = (uint64(uint32(c.Int(0)))<<16 + 0x330e) & randMask
}
