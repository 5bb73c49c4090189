package checksum

import (
	"math/rand/v2"
	"testing"
)

// slowCRC64 is the definition: one bit at a time.
func slowCRC64(crc uint64, b []byte) uint64 {
	for _, c := range b {
		crc ^= uint64(c)
		for range 8 {
			if crc&1 == 1 {
				crc = crc>>1 ^ jonesReflected
			} else {
				crc >>= 1
			}
		}
	}
	return crc
}

func TestCRC64KnownValues(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint64
	}{
		{"", 0},
		{"123456789", 0xe9c6d914c4b8d9ca}, // the check value of this CRC
		{"\x00\xc0\n\n\x00", 0xbb63ae0e4557_9f6e}, // the DUMP payload of "10" as Redis closes it
	} {
		if got := CRC64(0, []byte(c.text)); got != c.want {
			t.Errorf("CRC64(%q) = %#x, want %#x", c.text, got, c.want)
		}
	}
}

func TestCRC64AgreesWithDefinitionInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 300)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	for n := range b {
		want := slowCRC64(0, b[:n])
		cut := rng.IntN(n + 1)
		if got := CRC64(CRC64(0, b[:cut]), b[cut:n]); got != want {
			t.Fatalf("length %d cut at %d: %#x, want %#x", n, cut, got, want)
		}
	}
}

func BenchmarkCRC64(b *testing.B) {
	buf := make([]byte, 64<<10)
	b.SetBytes(int64(len(buf)))
	var crc uint64
	for b.Loop() {
		crc = CRC64(crc, buf)
	}
}
