package engine

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
		}
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

// DetachAll empties every database of a shard, whose lock is held. FreeTrash gives the memory back.
func (e *Engine) DetachAll(shard int) {
	e.Flushed()
	for db := range e.dbs {
		e.shards[shard].Part.DetachDB(db)
	}
}
