package engine

import "github.com/covey-db/covey/internal/observe"

// This file holds how a big value gets from the buffer that it arrived in into the data without a copy: the buffer becomes the
// value. Copied, it would be in memory twice for a moment, and its client would wait for the copy.

const (
	// adoptMin is from which size on. Buffers for smaller values are kept and used again by their worker, which saves more than
	// the copy costs.
	adoptMin = spareBytesMax
	// adoptRest is how much else may be in the buffer, which is copied.
	adoptRest = 64 << 10
	// adoptArgs is how many arguments the command may have.
	adoptArgs = 16
)

// input is a buffer that a value may take over. It is set only while ProcessOwn executes what is in it.
type input struct {
	bytes []byte
	end   int      // where the command under way ends
	taken bool     // it is a value now
	rest  []byte   // what comes behind the command then, in a buffer of its own
	shown []string // and how the command is shown when its locks have been given back
}

// ProcessOwn is Process for input that fills a buffer of w.Spare from its start on. A value may take the buffer over, which must
// not be touched any more then: buf is what the input is in afterwards, the same buffer or another one with what was not used.
func (s *Session) ProcessOwn(w *Worker, in []byte) (used int, buf []byte) {
	if len(in) < adoptMin || !w.Spare.isOffHeap(in) {
		return s.Process(w, in), in
	}
	own := &w.ctx.input
	own.bytes = in
	used, buf = s.Process(w, in), in
	if own.taken {
		used, buf = 0, own.rest
	}
	*own = input{}
	return used, buf
}

// MoreRoom is how much room input should get behind so many bytes that are here: as much as the long argument that is
// arriving needs, but not much more than doubles what has really arrived. When there is none it is least, or more where many have come.
func (s *Session) MoreRoom(have, least int) int {
	need := s.Need()
	if need == 0 || have-s.Behind()+need < least {
		return max(least, have/8) // many short ones arrive
	}
	const page = 4096 // a value that takes its buffer over may need one more; see mem.Arena.Adopt
	if have+need >= adoptMin {
		need += page
	}
	return min(max(need, page), max(have, least))
}

// SetString sets the i-th key to a string. An argument that fills the buffer it arrived in becomes the value without a copy.
func (c *Ctx) SetString(i int, val []byte, expireAt int64) {
	if len(val) < adoptMin || c.input.bytes == nil || !c.adopts(i, val, expireAt) {
		c.Part(i).SetString(c.S.db, &c.keys[i], val, expireAt)
	}
}

// adopts makes the buffer of the command under way a value; false when it does not suit. The arguments stay where they are
// until the locks are given back. After that anybody may change or free the value, so whatever else is needed then is copied.
func (c *Ctx) adopts(i int, val []byte, expireAt int64) bool {
	own := &c.input
	behind := own.bytes[own.end:]
	if c.inExec || len(c.Args) > adoptArgs || len(behind) > adoptRest || c.e.monitors.count.Load() > 0 {
		return false
	}
	if !c.Part(i).TakeString(c.S.db, &c.keys[i], &c.e.Buffers, own.bytes, val, expireAt) {
		return false
	}
	own.taken = true
	if len(behind) > 0 {
		own.rest = append(c.W.Spare.Get(len(behind), len(behind)), behind...)
	}
	own.shown = observe.Shorten(c.Args)
	return true
}
