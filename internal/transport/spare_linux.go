package transport

// spare keeps buffers of large input while its loop is busy: one that is made for each value of a megabyte, and grown as the
// value comes in, costs more than everything else that is done for the value.
type spare struct {
	list  [][]byte
	bytes int
}

const (
	spareBytesMax = 16 << 20
	spareEachMin  = 128 << 10 // smaller ones are not kept
)

// get returns an empty buffer for at least so many bytes: one that has room for as many as wished if there is such a
// one, else a new one that is no larger than asked for.
func (s *spare) get(least, wished int) []byte {
	found := -1
	for i, b := range s.list {
		if cap(b) >= least && (found < 0 || fits(cap(b), cap(s.list[found]), wished)) {
			found = i
		}
	}
	if found < 0 {
		return make([]byte, 0, least)
	}
	b := s.list[found]
	last := len(s.list) - 1
	s.list[found], s.list[last] = s.list[last], nil
	s.list = s.list[:last]
	s.bytes -= cap(b)
	return b
}

// fits says whether a buffer of n bytes is a better choice than one of so many: the smallest that is large enough, else
// the largest.
func fits(n, best, wished int) bool {
	if n >= wished && best >= wished {
		return n < best
	}
	return n > best
}

// put keeps a buffer that nobody uses any more.
func (s *spare) put(b []byte) {
	if cap(b) < spareEachMin || s.bytes+cap(b) > spareBytesMax {
		return
	}
	s.list = append(s.list, b[:0])
	s.bytes += cap(b)
}
