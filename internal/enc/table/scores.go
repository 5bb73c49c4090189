package table

import "github.com/covey-db/covey/internal/mem"

// ScoredAt is the entry that Entry.Ref named, for who has a table of Scores and knows only its arena.
func ScoredAt(a *mem.Arena, ref mem.Ref) Entry { return decode(a.Tail(ref), ref, Scores, true) }
