package object

import (
	"github.com/covey-db/covey/internal/enc/list"
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds the removal of big values. A value with many elements is put aside and freed in slices, so that its
// removal stalls nobody.

// dropAtOnce is the number of elements up to which a value is freed with its key: about 5 µs at 80 ns an element.
const dropAtOnce = 64

// dropAll is a budget that is never used up.
const dropAll = 1 << 62

// Dropper frees the roots of one part. It is guarded by the part's lock.
type Dropper struct {
	arena *mem.Arena
	trash []dropped
	left  int64 // of all trash
	freed int64 // values that were put aside and are gone
}

// dropped is a value that waits to be freed.
type dropped struct {
	encoding keyspace.Encoding
	kind     keyspace.Type
	root     mem.Ref
	left     int64 // elements, about
}

// NewDropper is the dropper of the part whose values lie in the arena.
func NewDropper(a *mem.Arena) *Dropper { return &Dropper{arena: a} }

// Drop implements keyspace.Dropper.
func (d *Dropper) Drop(t keyspace.Type, e keyspace.Encoding, root mem.Ref, length uint64) {
	v := dropped{encoding: e, kind: t, root: root, left: int64(length)}
	budget := dropAll
	if e == keyspace.EncStream {
		budget = dropAtOnce // nobody counts what its groups hold
	}
	if length <= dropAtOnce {
		if _, done := v.free(d.arena, budget); done {
			return
		}
	}
	v.left = max(v.left, 1)
	d.left += v.left
	d.trash = append(d.trash, v)
}

// FreeSome frees about budget elements. It returns how many are left, about; 0 only when nothing is.
func (d *Dropper) FreeSome(budget int) (left int64) {
	for len(d.trash) > 0 && budget > 0 {
		last := &d.trash[len(d.trash)-1]
		spent, done := last.free(d.arena, budget)
		budget -= spent
		d.left -= last.left
		last.left = max(last.left-int64(spent), 1)
		if done {
			d.trash = d.trash[:len(d.trash)-1]
			d.freed++
			continue
		}
		d.left += last.left
	}
	return d.left
}

// Trash is the number of values that were put aside: those that wait and those that are gone.
func (d *Dropper) Trash() (pending, freed int64) { return int64(len(d.trash)), d.freed }

// free frees about budget elements of a value. When it is not done it has to be called again with the same root.
func (v *dropped) free(a *mem.Arena, budget int) (spent int, done bool) {
	switch v.encoding {
	case keyspace.EncHashtable:
		t := table.Open(a, v.root)
		return t.Free(budget)
	case keyspace.EncSkiplist:
		return freeRanked(a, v.root, budget)
	case keyspace.EncQuicklist:
		return list.FreeSome(a, v.root, budget)
	case keyspace.EncStream:
		return stream.FreeSome(a, v.root, budget)
	default:
		invariant.That(false, "object: a root of an encoding that nothing frees")
		return 0, true
	}
}
