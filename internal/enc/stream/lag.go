package stream

import "math"

// This file holds what a group knows of how far behind it is.

// hasTombstones says whether entries may have been deleted among those from an ID on.
func (s Stream) hasTombstones(from ID) bool {
	deleted := s.MaxDeletedID()
	if s.Len() == 0 || deleted.IsZero() || deleted.Less(s.FirstID()) {
		return false
	}
	return !deleted.Less(from)
}

// everAdded is the number of entries ever added, which are no fewer than there are: a stream from outside may tell anything.
func (s Stream) everAdded() int64 { return max(s.EntriesAdded(), s.Len()) }

// Lag is how many entries the group has not read yet; false when that cannot be told.
func (s Stream) Lag(g Group) (lag int64, known bool) {
	switch {
	case s.EntriesAdded() == 0, s.Len() == 0:
		return 0, true
	case s.counts(g) && !s.hasTombstones(g.LastID()):
		return max(s.everAdded()-g.EntriesRead(), 0), true // XSETID may have set the first below the second
	}
	read := s.readUpTo(g.LastID())
	return s.everAdded() - read, read != Unknown
}

// counts says whether the number of entries that a group has read says what is left: not when entries that it had not read
// are gone from the start of the stream.
func (s Stream) counts(g Group) bool {
	return g.EntriesRead() != Unknown && !g.LastID().Less(s.FirstID())
}

// readUpTo is how many of the entries ever added have an ID up to the given one; Unknown when that cannot be told.
func (s Stream) readUpTo(id ID) int64 {
	last, first, added, n := s.LastID(), s.FirstID(), s.everAdded(), s.Len()
	deleted := s.MaxDeletedID()
	switch {
	case added == 0:
		return 0
	case n == 0 && !last.Less(id), id == last:
		return added
	case last.Less(id):
		return Unknown
	case !deleted.IsZero() && !deleted.Less(first):
		return Unknown
	case id.Less(first):
		return added - n
	case id == first:
		return added - n + 1
	}
	return Unknown
}

// Advance notes that the entry was delivered to a group, if it comes after all that were; false if it does not.
func (s Stream) Advance(g Group, id ID) bool {
	if !g.LastID().Less(id) {
		return false
	}
	if s.counts(g) && !s.hasTombstones(g.LastID()) {
		g.SetEntriesRead(min(g.EntriesRead(), math.MaxInt64-1) + 1)
	} else if s.EntriesAdded() != 0 {
		g.SetEntriesRead(s.readUpTo(id))
	}
	g.SetLastID(id)
	return true
}
