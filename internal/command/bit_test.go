package command

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestBitmaps(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SETBIT k 7 1 -> :0
		SETBIT k 7 1 -> :1
		GET k -> "\x01"
		SETBIT k 100 0 -> :0
		STRLEN k -> :13
		BITCOUNT k -> :1
		BITCOUNT k 0 7 BIT -> :1
		BITPOS k 1 -> :7
		BITPOS k 1 8 -1 BIT -> :-1
		BITFIELD k INCRBY u4 #0 3 OVERFLOW FAIL INCRBY u4 #0 13 GET u8 0 -> [:3 nil :49]
		BITFIELD_RO k GET i4 0 GET u63 1000 -> [:3 :0]
		BITFIELD_RO k GET u8 5000 -> [:0]
		BITOP NOT n k -> :13
		BITOP XOR n n n n k -> :13
		BITCOUNT n -> :104
		BITOP AND gone missing missing -> :0
		SET s 1
		BITOP AND s missing -> :0
		EXISTS s gone -> :0
	`)
	h.wantEffects("SELECT 0", "SETBIT k 7 1", "SETBIT k 100 0", "BITFIELD k INCRBY u4 #0 3 OVERFLOW FAIL INCRBY u4 #0 13 GET u8 0", "BITOP NOT n k",
		"BITOP XOR n n n n k", "SET s 1", "BITOP AND s missing")
}

// A number that is set is brought into the range of its field, the lowest of all from the wrong side, as in Redis.
func TestSaturation(t *testing.T) {
	h := newHarness(t)
	h.script(`
		BITFIELD k OVERFLOW SAT SET i8 0 -1000 GET i8 0 -> [:0 :-128]
		BITFIELD k OVERFLOW SAT SET i8 0 -9223372036854775808 GET i8 0 -> [:-128 :127]
		BITFIELD k OVERFLOW SAT SET u8 0 -1 GET u8 0 -> [:127 :255]
		BITFIELD k OVERFLOW SAT INCRBY u8 0 -9223372036854775808 INCRBY u8 0 9223372036854775807 -> [:0 :255]
		BITFIELD k OVERFLOW SAT SET i64 0 9223372036854775807 INCRBY i64 0 1 INCRBY i64 0 -9223372036854775808 -> [:-72057594037927936 :9223372036854775807 :-1]
		BITFIELD k OVERFLOW WRAP SET i3 0 5 GET i3 0 INCRBY i3 0 -8 -> [:-1 :-3 :-3]
	`)
}

// What only makes a string longer reaches replicas, even if every operation failed.
func TestFailedFieldsGrowReplicasToo(t *testing.T) {
	h := newHarness(t)
	h.want("BITFIELD k OVERFLOW FAIL SET u8 0 256", "[nil]")
	h.want("STRLEN k", ":1")
	h.wantEffects("SELECT 0", "BITFIELD k OVERFLOW FAIL SET u8 0 256")
	h.want("BITFIELD k OVERFLOW FAIL SET u8 0 256", "[nil]")
	h.wantEffects()
}

// The loops over words agree with those over bits.
func TestBitLoops(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := bytes.Repeat([]byte{[]byte{0, 0xff, 0x55}[dice.IntN(3)]}, 1+dice.IntN(70))
		for range dice.IntN(3) {
			b[dice.IntN(len(b))] ^= 1 << dice.IntN(8)
		}
		r := bitRange{int64(dice.IntN(len(b) * 8)), int64(dice.IntN(len(b) * 8))}
		var count int64
		first := [2]int64{-1, -1}
		for i := r.to; i >= r.from; i-- {
			bit := b[i>>3] >> (7 - i&7) & 1
			count += int64(bit)
			first[bit] = i
		}
		if got := countBits(b, r); got != count {
			t.Fatalf("%x %v: %d ones, want %d", b, r, got, count)
		}
		for bit, want := range first {
			if got := findBit(b, r, bit == 1); got != want {
				t.Fatalf("%x %v: first %d at %d, want %d", b, r, bit, got, want)
			}
		}
		width := uint(1 + dice.IntN(64))
		offset := int64(dice.IntN(len(b) * 8))
		if offset+int64(width) > int64(len(b)*8) {
			continue
		}
		old, value := bytes.Clone(b), dice.Uint64()>>(64-width)
		setField(b, offset, width, value)
		if got := getField(b, offset, width); got != value {
			t.Fatalf("field of %d at %d: %x, want %x", width, offset, got, value)
		}
		setField(b, offset, width, getField(old, offset, width))
		if !bytes.Equal(b, old) {
			t.Fatalf("field of %d at %d touches its neighbours", width, offset)
		}
	}
}

func TestHyperLogLogs(t *testing.T) {
	h := newHarness(t)
	h.script(`
		PFADD k -> :1
		PFADD k a b -> :1
		PFADD k a b -> :0
		PFCOUNT k -> :2
		PFCOUNT k -> :2
		PFADD l b c -> :1
		PFCOUNT k l -> :3
		PFMERGE m k l -> +OK
		PFCOUNT m -> :3
		PFDEBUG ENCODING m -> +sparse
		PFDEBUG TODENSE m -> :1
		PFDEBUG TODENSE m -> :0
		PFADD m b -> :0
		PFCOUNT m -> :3
		PFMERGE k m -> +OK
		PFDEBUG ENCODING k -> +dense
		PFSELFTEST -> +OK
		SET s x
		PFADD s a -> -WRONGTYPE Key is not a valid HyperLogLog string value.
	`)
	h.wantEffects("SELECT 0", "PFADD k", "PFADD k a b", "PFCOUNT k", "PFADD l b c", "PFMERGE m k l", "PFCOUNT m", "PFDEBUG TODENSE m", "PFMERGE k m", "SET s x")
}

// A broken sketch is an error and stays as it is.
func TestBrokenHyperLogLogs(t *testing.T) {
	h := newHarness(t)
	h.args("SET", "k", "HYLL\x01"+strings.Repeat("\x00", 10)+"\x80\x7f\xfe")
	h.want("PFADD k a b c d e f g h", ":1")
	for _, line := range []string{"PFCOUNT k", "PFCOUNT k l", "PFMERGE l k", "PFMERGE k l", "PFDEBUG GETREG k", "PFDEBUG TODENSE k"} {
		h.want(line, "-INVALIDOBJ Corrupted HLL object detected")
	}
	h.want("EXISTS l", ":0")
}
