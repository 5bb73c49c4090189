package keyspace

import (
	"bytes"
	"testing"

	"github.com/covey-db/covey/internal/mem"
)

// FuzzRecord writes a record and reads it back: whatever the lengths, each field is where decode looks for it, and nothing
// lies beyond the size that was asked for.
func FuzzRecord(f *testing.F) {
	f.Add(uint8(0), uint32(0), int64(0), uint16(16), uint16(32), []byte("k"), []byte("v"))
	f.Add(uint8(0x42), uint32(clockMask), int64(1), uint16(255), uint16(256), []byte("key"), []byte{})
	f.Add(uint8(0xff), uint32(1), int64(-1), uint16(256), uint16(255), []byte{0}, []byte{0xff})
	f.Fuzz(func(t *testing.T, head uint8, clock uint32, expireAt int64, klen, vlen uint16, key, val []byte) {
		key, val = stretch(key, int(klen)), stretch(val, int(vlen))
		clock &= clockMask
		flags := shape(len(key), len(val), expireAt)
		size := headSize(flags) + len(key) + len(val)
		b := bytes.Repeat([]byte{0xee}, size+8)
		encode(b, head, flags, clock, expireAt, key, val)
		r := Rec{b: b}
		if r.size() != size || !bytes.Equal(r.Key(), key) || !bytes.Equal(r.Value(), val) {
			t.Fatalf("a key of %d bytes and a value of %d are not what they were", len(key), len(val))
		}
		if r.ExpireAt() != expireAt || r.HasExpiry() != (expireAt != 0) || r.Clock() != clock {
			t.Fatalf("the expiry is %d, must be %d; the clock %d, must be %d", r.ExpireAt(), expireAt, r.Clock(), clock)
		}
		if r.Type() != Type(head>>4) || r.Encoding() != Encoding(head&15) || r.IsRoot() {
			t.Fatalf("the type is %d, the encoding %d of %#x", r.Type(), r.Encoding(), head)
		}
		r.SetClock(clockMask)
		if r.Clock() != clockMask || !bytes.Equal(r.Key(), key) || r.Type() != Type(head>>4) {
			t.Fatal("setting the clock has changed something else")
		}
		if !bytes.Equal(b[size:], bytes.Repeat([]byte{0xee}, 8)) {
			t.Fatal("bytes behind the record were written")
		}
	})
}

// stretch is b, repeated and cut to n bytes.
func stretch(b []byte, n int) []byte {
	if len(b) == 0 {
		b = []byte{'x'}
	}
	return bytes.Repeat(b, n/len(b)+1)[:n]
}

// TestBlobWord pins that the handle of a blob can hold what an arena may give.
func TestBlobWord(t *testing.T) {
	for _, n := range []int{inlineMax + 1, 64 << 10, 64<<10 + 1, mem.MappedMin, mem.MappedMin + 1, 512 << 20, 4 << 30} {
		word := blobWord(mem.RefMask, n)
		if word&mem.RefMask != mem.RefMask || int(word>>mem.RefBits)*blobUnit != mem.Usable(n) {
			t.Errorf("a blob of %d bytes: the handle says %d", n, int(word>>mem.RefBits)*blobUnit)
		}
	}
}
