package engine

// This file holds what replaces the whole data set under the clients: a full synchronisation, a reset of the node.

// EmptyAll empties every database; all shards are locked. Who watches a key that was there, or tracks any, hears of it.
// FreeTrash gives the memory back.
func (e *Engine) EmptyAll() {
	e.replaceAll(func(s *Shard) {
		for db := range e.dbs {
			s.Part.DetachDB(db)
		}
	})
}

// TakeStaged puts what was loaded beside the data in the data's place; all shards are locked. It is told like EmptyAll.
func (e *Engine) TakeStaged() { e.replaceAll(func(s *Shard) { s.Part.TakeStaged() }) }

// DropStaged frees what was loaded beside the data, as far as it came, a bounded number of records under one hold of a lock.
func (e *Engine) DropStaged(perHold int) {
	for i := range e.shards {
		s := e.Lock(i)
		s.Part.DropStaged()
		s.Unlock()
	}
	e.FreeTrash(perHold)
}

// replaceAll changes every shard, and tells who depends on keys that are there or will be.
func (e *Engine) replaceAll(change func(*Shard)) {
	for i := range e.shards {
		s := &e.shards[i]
		there := func(db int, name string) bool {
			key := e.Key([]byte(name))
			_, now := s.Part.Find(db, &key)
			_, soon := s.Part.Find(s.Part.Staged(db), &key)
			return now || soon
		}
		s.TouchAll(-1, there)
		change(s)
	}
	e.Flushed()
	e.ForgetAll()
}
