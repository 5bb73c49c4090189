package transport

import "time"

// spinTime is how long a runner looks for events before it waits for them. Longer finds more, but takes more CPU than the
// waking up that it saves: see ADR 13.
const spinTime = 8 * time.Microsecond

const (
	spinGain    = 2       // what a spin that found something is worth, in spins that found nothing
	spinScore   = 8       // the most that is kept of past gains
	spinRestMin = 16      // waits without a spin when nothing is left of them
	spinRestMax = 1 << 10 // and at most, when no spin finds anything
)

// spin decides when looking for events is worth its CPU: while many clients keep a loop busy the next event is a few
// microseconds away, while few do it is not.
type spin struct {
	score int // what is left of past gains
	pause int // the last rest
	rest  int // waits that still do without
}

// due says whether to look before the next wait.
func (s *spin) due() bool {
	if s.rest == 0 {
		return true
	}
	s.rest--
	return false
}

// learn takes whether a look found something.
func (s *spin) learn(found bool) {
	switch {
	case found:
		s.score, s.pause = min(s.score+spinGain, spinScore), 0
	case s.score > 0:
		s.score--
	default:
		s.pause = min(max(2*s.pause, spinRestMin), spinRestMax)
		s.rest = s.pause
	}
}
