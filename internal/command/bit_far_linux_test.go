//go:build linux && !race

package command

import (
	"runtime"
	"testing"
)

// The farthest bit makes a string of 512 MiB, of which only what is touched is memory. A farther one is an error first.
func TestFarBits(t *testing.T) {
	h := newHarness(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h.script(`
		SETBIT far 4294967296 1 -> -ERR bit offset is not an integer or out of range
		BITFIELD far SET u8 #536870912 1 -> -ERR bit offset is not an integer or out of range
		EXISTS far -> :0
		SETBIT far 4294967295 1 -> :0
		STRLEN far -> :536870912
		GETBIT far 4294967295 -> :1
		BITFIELD far GET u32 4294967280 SET u8 4294967288 255 -> [:65536 :1]
		BITFIELD far SET i64 4294967295 -1 -> [:-9223372036854775808]
		STRLEN far -> :536870920
		DEL far -> :1
	`)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes of the Go heap were used", grown)
	}
}
