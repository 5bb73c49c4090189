package transport

import "testing"

// spinsOf counts how often a loop spins in so many waits; found says whether a spin finds something.
func (s *spin) spinsOf(waits int, found func(spin int) bool) (spins int) {
	for range waits {
		if s.due() {
			s.learn(found(spins))
			spins++
		}
	}
	return spins
}

func TestSpinsWhileItPays(t *testing.T) {
	var s spin
	if n := s.spinsOf(10_000, func(n int) bool { return n%2 == 0 }); n != 10_000 {
		t.Errorf("%d of 10000 waits spun although every other spin found something", n)
	}
}

func TestSpinsSeldomWhenItDoesNot(t *testing.T) {
	for every, most := range map[int]int{1_000_000: 120, 10: 2000} {
		var s spin
		if n := s.spinsOf(100_000, func(n int) bool { return n%every == every-1 }); n > most {
			t.Errorf("%d of 100000 waits spun although one spin in %d found something, want at most %d", n, every, most)
		}
	}
}

func TestSpinsAgainWhenClientsComeBack(t *testing.T) {
	var s spin
	s.spinsOf(100_000, func(int) bool { return false })
	always := func(int) bool { return true }
	if n := s.spinsOf(2*spinRestMax, always); n < spinRestMax {
		t.Errorf("%d of %d waits spun after a long rest", n, 2*spinRestMax)
	}
}
