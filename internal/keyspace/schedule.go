package keyspace

// This file holds the schedule of values in which something is due at some time: hashes with fields that expire. It is a
// heap of times with the slot and tag of the key, without its database, which may change. The value itself knows the time
// that it is scheduled for (Dropper.DueAt). An entry that does not agree with a value is stale: its key is gone, or the
// value was scheduled anew. Stale entries go when their time has come, and before that a few at a time whenever one is
// added, so there are never many more of them than values.

// alarm is an entry of the schedule.
type alarm struct {
	at   int64 // milliseconds
	tag  uint32
	slot uint16 // without the shard's bits
}

// schedule is a heap of alarms: the first one is the soonest.
type schedule struct {
	heap  []alarm
	sweep int     // where the search for stale entries goes on
	held  []alarm // were due in databases that are staged
}

const (
	sweepEach   = 2  // entries that are looked at for each one that is added
	staleAtOnce = 64 // stale entries that PopDue takes away at most before it gives up
)

// Schedule says that something in the value of a key is due at the given time. The value, which must be at its place, has to
// say so too (Dropper.DueAt).
func (p *Part) Schedule(k *Key, at int64) {
	p.schedule.push(alarm{at, uint32(k.tag()), uint16(k.Slot >> shardBits)})
	for range sweepEach {
		s := &p.schedule
		if s.sweep >= len(s.heap) {
			s.sweep = 0
		}
		if _, _, ok := p.scheduled(s.heap[s.sweep]); ok {
			s.sweep++
		} else if s.remove(s.sweep); len(s.heap) == 0 {
			return
		}
	}
}

// PopDue is a key in whose value something is due at the given time; its name is appended to buf. It is not scheduled any
// more then, which the caller makes good. more says that other values may be due, whether one was found or not.
func (p *Part) PopDue(now int64, buf []byte) (db int, name []byte, found, more bool) {
	s := &p.schedule
	for range staleAtOnce {
		if len(s.heap) == 0 || s.heap[0].at > now {
			return 0, buf, false, false
		}
		due := s.heap[0]
		s.remove(0)
		db, rec, ok := p.scheduled(due)
		switch {
		case ok && db >= p.databases:
			s.held = append(s.held, due)
		case ok:
			return db, append(buf, rec.Key()...), true, true
		}
	}
	return 0, buf, false, true
}

// scheduled is the record that an entry stands for.
func (p *Part) scheduled(a alarm) (db int, rec Rec, found bool) {
	for db, d := range p.dbs {
		if d == nil || d.slots[a.slot].count == 0 {
			continue
		}
		p.walk(&d.slots[a.slot], a.tag, 1, func(cell uint64) int {
			if r := p.record(cell); cellTag(cell) == uint64(a.tag) && !found && p.dropper.DueAt(r) == a.at {
				rec, found = r, true
			}
			return 1
		})
		if found {
			return db, rec, true
		}
	}
	return 0, rec, false
}

// release schedules what was held.
func (s *schedule) release() {
	for _, a := range s.held {
		s.push(a)
	}
	s.held = nil
}

func (s *schedule) push(a alarm) {
	s.heap = append(s.heap, a)
	s.up(len(s.heap) - 1)
}

func (s *schedule) remove(i int) {
	last := len(s.heap) - 1
	s.heap[i] = s.heap[last]
	s.heap = s.heap[:last]
	if i < last {
		s.down(i)
		s.up(i)
	}
	if last == 0 {
		*s = schedule{}
	}
}

func (s *schedule) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if s.heap[parent].at <= s.heap[i].at {
			return
		}
		s.heap[parent], s.heap[i] = s.heap[i], s.heap[parent]
		i = parent
	}
}

func (s *schedule) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if child+1 < len(s.heap) && s.heap[child+1].at < s.heap[child].at {
			child++
		}
		if s.heap[i].at <= s.heap[child].at {
			return
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
}
