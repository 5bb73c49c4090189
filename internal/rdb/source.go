package rdb

import (
	"bytes"
	"io"

	"github.com/covey-db/covey/internal/checksum"
)

const (
	sourceBuffer = 64 << 10 // one read from the file; strings up to this size are not copied
	keepScratch  = 1 << 20  // a bigger buffer is not kept for the next key
	growFirst    = 64 << 10 // a string longer than the buffer starts with this much, then doubles
)

// source hands out the bytes of the input and sums them. What it returns lives until the next call.
type source struct {
	r        io.Reader // nil: buf is the whole input
	buf      []byte    // buf[at:end] has been read from r and not been handed out
	at, end  int
	base     int64  // offset of buf[0] in the input
	summed   int    // buf[:summed] is in sum
	sum      uint64 // checksum of all bytes before buf[summed]
	unsummed bool   // no checksum is wanted
}

func newSource(r io.Reader, unsummed bool) source {
	return source{r: r, buf: make([]byte, sourceBuffer), unsummed: unsummed}
}

// sourceOf reads a payload that is already in memory. It never moves, so slices of it live as long as the payload.
func sourceOf(b []byte) source {
	return source{buf: b, end: len(b), unsummed: true}
}

func (s *source) offset() int64 { return s.base + int64(s.at) }

// checksum is the sum of all bytes handed out.
func (s *source) checksum() uint64 {
	s.addSum()
	return s.sum
}

func (s *source) addSum() {
	if !s.unsummed {
		s.sum = checksum.CRC64(s.sum, s.buf[s.summed:s.at])
	}
	s.summed = s.at
}

// fill makes at least n bytes ready, n being at most the size of the buffer.
func (s *source) fill(n int) error {
	if s.r == nil {
		return io.ErrUnexpectedEOF
	}
	s.addSum()
	s.base += int64(s.at)
	copy(s.buf, s.buf[s.at:s.end])
	s.end -= s.at
	s.at, s.summed = 0, 0
	got, err := io.ReadAtLeast(s.r, s.buf[s.end:], n-s.end)
	s.end += got
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// need returns the next n bytes, at most the size of the buffer.
func (s *source) need(n int) ([]byte, error) {
	if s.end-s.at < n {
		if err := s.fill(n); err != nil {
			return nil, err
		}
	}
	b := s.buf[s.at : s.at+n : s.at+n]
	s.at += n
	return b, nil
}

func (s *source) oneByte() (byte, error) {
	if s.at == s.end {
		if err := s.fill(1); err != nil {
			return 0, err
		}
	}
	b := s.buf[s.at]
	s.at++
	return b, nil
}

// take returns the next n bytes, in the scratch space if they do not fit in the buffer. The space grows as the bytes
// arrive, whatever n says.
func (s *source) take(n uint64, scratch *[]byte) ([]byte, error) {
	if n <= uint64(s.end-s.at) || s.r != nil && n <= uint64(len(s.buf)) {
		return s.need(int(n))
	}
	if s.r == nil {
		return nil, io.ErrUnexpectedEOF
	}
	out := append((*scratch)[:0], s.buf[s.at:s.end]...)
	s.at = s.end
	for uint64(len(out)) < n {
		old := len(out)
		step := min(n-uint64(old), uint64(max(old, growFirst, cap(out)-old)))
		out = extend(out, int(step))
		got, err := io.ReadFull(s.r, out[old:])
		s.passed(out[old : old+got])
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	*scratch = out
	return out, nil
}

// passed counts and sums bytes that did not go through the buffer, which is empty.
func (s *source) passed(b []byte) {
	s.addSum()
	s.base += int64(s.at) + int64(len(b))
	s.at, s.end, s.summed = 0, 0, 0
	if !s.unsummed {
		s.sum = checksum.CRC64(s.sum, b)
	}
}

// rest reads what comes after the bytes handed out.
func (s *source) rest() io.Reader {
	left := bytes.NewReader(s.buf[s.at:s.end])
	if s.r == nil {
		return left
	}
	return io.MultiReader(left, s.r)
}

// extend returns b with n more bytes of any content.
func extend(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	out := make([]byte, len(b)+n)
	copy(out, b)
	return out
}
