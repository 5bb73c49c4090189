package mem

import "testing"

// TestQuietArenaGivesItsReserveBack says that free pages stay while they are used from time to time, and no longer.
func TestQuietArenaGivesItsReserveBack(t *testing.T) {
	a := NewArena(Options{})
	defer a.Close()
	kept := a.Alloc(ForBlob, 100)
	busy := func() { // a run of pages that comes and goes
		a.Free(ForBlob, a.Alloc(ForBlob, 5*pageSize), 5*pageSize)
	}
	busy()
	a.Decay()
	for range 5 {
		busy()
		a.Decay()
		if a.Stats().FreeDirty == 0 {
			t.Fatal("a reserve that is in use was given back")
		}
	}
	a.Free(ForBlob, kept, 100)
	for range 3 {
		a.Decay()
	}
	if s := a.Stats(); s.FreeDirty != 0 {
		t.Errorf("%d bytes of free pages take memory though nothing happens", s.FreeDirty)
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}
