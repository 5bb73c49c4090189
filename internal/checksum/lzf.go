package checksum

import (
	"encoding/binary"
	"errors"
)

// An LZF text is a sequence of items; the top three bits of an item's first byte tell which one it is.
//
//	000nnnnn                     n+1 literal bytes follow
//	nnnooooo oooooooo            repeat n+2 bytes (n = 1..6) that began o+1 bytes ago
//	111ooooo nnnnnnnn oooooooo   repeat n+9 bytes that began o+1 bytes ago
const (
	lzfLiteralsMax = 1 << 5    // literal bytes in one item
	lzfReachMax    = 1 << 13   // how far back a repeat may begin
	lzfRepeatMax   = 255 + 9   // bytes that one item can repeat
	lzfLongCode    = 7         // in the place of n: a byte with the rest of the length follows
	lzfTableBits   = 16        // as in Redis: a table of another size finds other repeats
	lzfInputMax    = 1<<31 - 1 // longer inputs are not compressed, positions are 32 bits wide
	lzfSaving      = 4         // Redis keeps the plain text unless this many bytes are saved
	lzfRatioMax    = 88        // a repeat of 264 bytes takes 3
)

// ErrLZF reports a compressed text that is damaged or that does not expand to the length it was said to have.
var ErrLZF = errors.New("damaged LZF text")

// LZF is the memory of a compressor: where each group of three bytes was last seen. It is 256 KB, so it is meant to be
// kept and used again; it belongs to one goroutine. The zero value is ready, and the output for an input does not depend
// on what was compressed before.
type LZF struct {
	seen [1 << lzfTableBits]uint32 // base plus the position; smaller than base: from an earlier input
	base uint32
}

// Compress appends the compressed form of src, byte for byte the one Redis makes. ok is false, and dst comes back as it
// was, if that saves less than four bytes.
func (c *LZF) Compress(dst, src []byte) (out []byte, ok bool) {
	if len(src) <= lzfSaving || len(src) > lzfInputMax {
		return dst, false
	}
	c.begin(len(src))
	room := len(src) - lzfSaving
	body, ok := c.repeats(dst, src, len(dst)+room)
	if !ok {
		return dst, false
	}
	return body, true
}

// begin makes every position remembered from earlier inputs invalid.
func (c *LZF) begin(n int) {
	if c.base == 0 || uint64(c.base)+2*uint64(n) > 1<<32-1 {
		clear(c.seen[:])
		c.base = 1
	}
}

// repeats writes src as items to dst, which may not grow beyond limit.
//
// Redis reserves the head byte of a literal run before it knows whether the run will have bytes. The tests against limit
// count that byte as Redis does, so that both give up on the same inputs.
func (c *LZF) repeats(dst, src []byte, limit int) ([]byte, bool) {
	last := len(src) - 2 // three bytes are needed to look for a repeat
	base := c.base
	c.base += uint32(len(src))
	i, run := 0, 0 // src[run:i] are the literals not yet written
	triple := uint32(src[0])<<8 | uint32(src[1])
	for i < last {
		triple = triple<<8 | uint32(src[i+2])
		slot := &c.seen[lzfSlot(triple)]
		from := int(int64(*slot) - int64(base))
		*slot = base + uint32(i)
		if from <= 0 || i-from > lzfReachMax || !sameTriple(src, from, i) { // NB: position 0 is never found
			if len(dst)+1+i-run >= limit {
				return nil, false
			}
			i++
			if i-run == lzfLiteralsMax {
				dst, run = appendLiterals(dst, src[run:i]), i
			}
			continue
		}
		if run < i {
			dst = appendLiterals(dst, src[run:i])
		}
		if len(dst)+4 >= limit {
			return nil, false
		}
		n := repeatLen(src, from, i)
		dst = appendRepeat(dst, i-from-1, n)
		i += n
		run = i
		if i >= last {
			break
		}
		triple = c.note(src, base, i)
	}
	if len(dst)+1+i-run+3 > limit {
		return nil, false
	}
	for len(src)-run >= lzfLiteralsMax {
		dst, run = appendLiterals(dst, src[run:run+lzfLiteralsMax]), run+lzfLiteralsMax
	}
	if run < len(src) {
		dst = appendLiterals(dst, src[run:])
	}
	return dst, true
}

// note remembers the last two positions inside the repeat that ended at i and returns the two bytes at i.
func (c *LZF) note(src []byte, base uint32, i int) uint32 {
	for p := i - 2; p < i; p++ {
		c.seen[lzfSlot(uint32(src[p])<<16|uint32(src[p+1])<<8|uint32(src[p+2]))] = base + uint32(p)
	}
	return uint32(src[i])<<8 | uint32(src[i+1])
}

// lzfSlot is where the table keeps the three bytes in the low 24 bits of triple. Which groups share a place decides which
// repeats are found, hence it is the function Redis uses.
func lzfSlot(triple uint32) uint32 {
	return (triple>>8 - triple*5) & (1<<lzfTableBits - 1)
}

func sameTriple(src []byte, a, b int) bool {
	return src[a] == src[b] && src[a+1] == src[b+1] && src[a+2] == src[b+2]
}

// repeatLen is the number of bytes that are equal from both positions on, the first three being known to be. Near the end
// of src the compressor of Redis stops two bytes early, unless more than 16 bytes were to be compared and the first 18
// (which it compares without asking) reach further.
func repeatLen(src []byte, from, at int) int {
	most := min(len(src)-at-2, lzfRepeatMax)
	n := 3
	if most > 16 {
		for ; n < 19; n++ {
			if src[from+n] != src[at+n] {
				return n
			}
		}
	}
	for n < most && src[from+n] == src[at+n] {
		n++
	}
	return n
}

func appendLiterals(dst, run []byte) []byte {
	return append(append(dst, byte(len(run)-1)), run...)
}

// appendRepeat writes the item that repeats n bytes which began back+1 bytes ago.
func appendRepeat(dst []byte, back, n int) []byte {
	code := n - 2
	if code < lzfLongCode {
		return append(dst, byte(code<<5|back>>8), byte(back))
	}
	return append(dst, byte(lzfLongCode<<5|back>>8), byte(code-lzfLongCode), byte(back))
}

// DecompressLZF appends the n bytes that src expands to. The length n is only believed as far as src can produce it.
func DecompressLZF(dst, src []byte, n int) ([]byte, error) {
	if n < 0 || n/lzfRatioMax > len(src) {
		return dst, ErrLZF
	}
	start := len(dst)
	out := grow(dst, n)
	at := start
	for len(src) > 0 {
		head := int(src[0])
		if head < lzfLiteralsMax {
			if head+2 > len(src) || head+1 > len(out)-at {
				return dst, ErrLZF
			}
			at += copy(out[at:], src[1:head+2])
			src = src[head+2:]
			continue
		}
		count, back, used := repeatItem(src)
		if used == 0 || count > len(out)-at || back > at-start {
			return dst, ErrLZF
		}
		repeat(out, at, back, count)
		at += count
		src = src[used:]
	}
	if at != len(out) {
		return dst, ErrLZF
	}
	return out, nil
}

// repeatItem reads the head of a repeat; used is 0 if src ends inside it.
func repeatItem(src []byte) (count, back, used int) {
	code := int(src[0] >> 5)
	switch {
	case code < lzfLongCode && len(src) >= 2:
		return code + 2, int(binary.BigEndian.Uint16(src)&(lzfReachMax-1)) + 1, 2
	case code == lzfLongCode && len(src) >= 3:
		return code + 2 + int(src[1]), int(src[0]&0x1f)<<8 + int(src[2]) + 1, 3
	}
	return 0, 0, 0
}

// repeat copies count bytes of out from back bytes before at. The two ranges may overlap: then what was just written is
// what gets repeated.
func repeat(out []byte, at, back, count int) {
	from := at - back
	for count > 0 {
		n := copy(out[at:at+count], out[from:at])
		at += n
		count -= n
	}
}

// grow returns dst with n more bytes of any content.
func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst[:len(dst)+n]
	}
	out := make([]byte, len(dst)+n, (len(dst)+n)*5/4)
	copy(out, dst)
	return out
}
