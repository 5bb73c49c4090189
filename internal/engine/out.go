package engine

import (
	"slices"

	"github.com/covey-db/covey/internal/resp"
)

// bigReplyBytes is the size from which a value gets a segment of its own, so that it is copied once and never moved by a
// growing buffer.
const bigReplyBytes = 64 << 10

// Out collects replies. Small ones are appended to one buffer that the worker reuses; big values are segments between.
// It belongs to one worker.
type Out struct {
	buf   []byte
	segs  [][]byte // sealed pieces before buf, in order
	size  int      // bytes in segs
	spare *Spare   // where big segments come from and go to; may be nil
}

// Len is the number of bytes waiting.
func (o *Out) Len() int { return o.size + len(o.buf) }

// Reset forgets everything; a buffer that grew large is left to the collector.
func (o *Out) Reset() {
	const keepBytes = 1 << 20 // one worker keeps at most this
	if cap(o.buf) > keepBytes {
		o.buf = make([]byte, 0, bigReplyBytes)
	}
	o.buf = o.buf[:0]
	if len(o.segs) > 0 {
		for i, seg := range o.segs {
			o.unneeded(seg)
			o.segs[i] = nil
		}
		o.segs = o.segs[:0]
		o.size = 0
	}
}

// Pieces appends the pending pieces to dst, in order. They live until Reset.
func (o *Out) Pieces(dst [][]byte) [][]byte {
	dst = append(dst, o.segs...)
	if len(o.buf) > 0 {
		dst = append(dst, o.buf)
	}
	return dst
}

// Single returns the bytes when they are one piece, which is the common case.
func (o *Out) Single() ([]byte, bool) { return o.buf, len(o.segs) == 0 }

// addBulk seals the buffer and adds a bulk string behind it, with a copy of b.
func (o *Out) addBulk(b []byte) {
	o.seal()
	const frame = len("$9223372036854775807\r\n\r\n")
	var seg []byte
	if n := len(b) + frame; o.spare != nil {
		seg = o.spare.Get(n, n)
	}
	seg = resp.AppendBulk(seg, b)
	o.segs = append(o.segs, seg)
	o.size += len(seg)
}

// room returns an empty buffer for the small replies that come next.
func (o *Out) room(n int) []byte {
	if o.spare == nil {
		return make([]byte, 0, n)
	}
	return o.spare.Plain(n)
}

// unneeded takes a segment back.
func (o *Out) unneeded(seg []byte) {
	if o.spare != nil {
		o.spare.Put(seg)
	}
}

// give appends pieces that Take of another Out returned.
func (o *Out) give(pieces [][]byte) {
	for _, p := range pieces {
		if len(p) < takenBytesMin {
			o.buf = append(o.buf, p...)
			o.unneeded(p)
			continue
		}
		o.seal()
		o.segs = append(o.segs, p)
		o.size += len(p)
	}
}

func (o *Out) seal() { o.sealFor(bigReplyBytes) }

// sealFor seals the buffer and makes one of another size.
func (o *Out) sealFor(size int) {
	if len(o.buf) == 0 {
		return
	}
	o.segs = append(o.segs, o.buf)
	o.size += len(o.buf)
	o.buf = o.room(size)
}

// PieceBytes is how long the buffer of a reply of many elements becomes before it is sealed: it would be moved again and
// again if it only grew.
const PieceBytes = 512 << 10

// piece seals a buffer that has become long. The next one has room for the element that is too much for PieceBytes.
func (o *Out) piece() { o.sealFor(PieceBytes + bigReplyBytes) }

// mark remembers a position for cutBack.
type outMark struct{ segs, buf, size int }

func (o *Out) mark() outMark { return outMark{len(o.segs), len(o.buf), o.size} }

// cutBack drops everything after m.
func (o *Out) cutBack(m outMark) {
	if len(o.segs) == m.segs {
		o.buf = o.buf[:m.buf]
		return
	}
	// The buffer of that time was sealed as segment m.segs (or was empty then).
	gone := o.segs[m.segs:]
	if m.buf > 0 {
		o.unneeded(o.buf)
		o.buf, gone = gone[0][:m.buf], gone[1:]
	} else {
		o.buf = o.buf[:0]
	}
	for _, seg := range gone {
		o.unneeded(seg)
	}
	clear(o.segs[m.segs:])
	o.segs = o.segs[:m.segs]
	o.size = m.size
}

// putInFront puts bytes before everything after m.
func (o *Out) putInFront(m outMark, head []byte) {
	if len(o.segs) == m.segs {
		end := len(o.buf)
		o.buf = append(o.buf, head...)
		copy(o.buf[m.buf+len(head):], o.buf[m.buf:end])
		copy(o.buf[m.buf:], head)
		return
	}
	sealed := o.segs[m.segs]
	front := append(append(make([]byte, 0, m.buf+len(head)), sealed[:m.buf]...), head...)
	o.segs[m.segs] = sealed[m.buf:]
	o.segs = slices.Insert(o.segs, m.segs, front)
	o.size += len(head)
}

// bytesSince copies everything after m, for replies that are needed as bytes.
func (o *Out) bytesSince(m outMark) []byte {
	var all []byte
	for _, p := range o.Pieces(nil) {
		all = append(all, p...)
	}
	return all[m.size+m.buf:]
}

// takenBytesMin is the size from which a buffer is given away instead of copied.
const takenBytesMin = 16 << 10

// Take empties the Out and returns its pieces, which belong to the caller: they are for a Spare when they were sent.
func (o *Out) Take() [][]byte {
	pieces := o.segs
	switch {
	case len(o.buf) >= takenBytesMin:
		pieces = append(pieces, o.buf)
		o.buf = o.room(bigReplyBytes)
	case len(o.buf) > 0:
		pieces = append(pieces, append([]byte(nil), o.buf...))
		o.buf = o.buf[:0]
	}
	o.segs, o.size = nil, 0
	return pieces
}
