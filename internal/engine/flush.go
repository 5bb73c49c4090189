package engine

import "time"

// Shards ranges over the numbers of the shards.
func (e *Engine) Shards() int { return len(e.shards) }

// FreeTrash frees what was flushed, a bounded number of records under one hold of a lock, until nothing is left.
func (e *Engine) FreeTrash(perHold int) {
	e.flushed.Store(false)
	for i := range e.shards {
		s := &e.shards[i]
		for left := int64(1); left > 0; {
			s.mu.Lock()
			left = s.Part.FreeSome(perHold)
			s.Part.Arena().Publish()
			s.mu.Unlock()
			e.GiveWay(i)
		}
	}
}

// freeBurst is for how long FreeTrashBeside holds a lock, with gaps, before it leaves it alone. A sleep takes a millisecond
// at least, so one behind each hold would make the memory of ten million elements come back in minutes.
const freeBurst = 500 * time.Microsecond

// FreeTrashBeside is FreeTrash while clients are served: it leaves the locks alone for as long as it had them, and it ends
// after about the given time. It is called by one goroutine.
func (e *Engine) FreeTrashBeside(perHold int, most time.Duration) {
	e.flushed.Store(false)
	began := time.Now()
	var held time.Duration
	for range e.shards {
		s := &e.shards[e.sweeping]
		for {
			s.mu.Lock()
			start := time.Now()
			left := s.Part.FreeSome(perHold)
			s.Part.Arena().Publish()
			s.mu.Unlock()
			if left == 0 {
				break
			}
			if time.Since(began) > most {
				e.flushed.Store(true)
				return
			}
			if held += time.Since(start); held >= freeBurst {
				time.Sleep(held)
				held = 0
			}
		}
		e.sweeping = (e.sweeping + 1) % len(e.shards)
	}
}

// Decay makes the shards give back memory that they keep for what has not come. The server calls it once a second.
func (e *Engine) Decay() {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		s.Part.Arena().Decay()
		s.mu.Unlock()
	}
}

// Trash is the number of values that wait to be freed, and of those that were freed so since the last reset.
func (e *Engine) Trash() (pending, freed int64) {
	pending, freed = e.countTrash()
	return pending, freed - e.Stats.lazyBase.Load()
}

func (e *Engine) countTrash() (pending, freed int64) {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		p, f := s.Part.Trash()
		s.mu.Unlock()
		pending, freed = pending+p, freed+f
	}
	return pending, freed
}

// Flushed tells that something was put aside which FreeTrash frees.
func (e *Engine) Flushed() { e.flushed.Store(true) }
