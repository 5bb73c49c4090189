package engine

// Spare keeps buffers of large input and of large replies while its worker is busy: one that is made for each value of a
// megabyte costs more than everything else that is done for the value.
type Spare struct {
	list  [][]byte
	bytes int
	used  bool // since Tidy
}

const (
	spareBytesMax = 16 << 20
	spareEachMin  = bigReplyBytes // smaller ones are not kept
	spareWaste    = 4             // a buffer that is so many times too large is not used
)

// Get returns an empty buffer for at least so many bytes: one that has room for as many as wished if there is such a
// one, else a new one that is no larger than asked for.
func (s *Spare) Get(least, wished int) []byte {
	found := -1
	for i, b := range s.list {
		if cap(b) >= least && cap(b)/spareWaste <= max(wished, least) && (found < 0 || fits(cap(b), cap(s.list[found]), wished)) {
			found = i
		}
	}
	if found < 0 {
		return make([]byte, 0, least)
	}
	b := s.list[found]
	s.used = true
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

// Put keeps a buffer that nobody uses any more.
func (s *Spare) Put(b []byte) {
	if cap(b) < spareEachMin || s.bytes+cap(b) > spareBytesMax {
		return
	}
	s.used = true
	s.list = append(s.list, b[:0])
	s.bytes += cap(b)
}

// Drop forgets all buffers.
func (s *Spare) Drop() { *s = Spare{} }

// Held says whether there are any.
func (s *Spare) Held() bool { return len(s.list) > 0 }

// Tidy forgets the buffers if none was asked for or given since the last call.
func (s *Spare) Tidy() {
	if !s.used {
		s.Drop()
	}
	s.used = false
}
