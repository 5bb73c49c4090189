package keyspace

import (
	"sync/atomic"

	"github.com/covey-db/covey/internal/mem"
)

// This file fetches what finding a key reads into the caches, in three steps of which each needs what the one before has
// fetched: the slot's table, the cells, the record. One search waits for three misses in a row; searches for several keys
// whose steps are taken in turns wait together. Nothing is changed, and nothing found: what happens to the key in between
// only makes a step useless.

// shown are the databases for WarmTable, which has no lock.
type shown []atomic.Pointer[database]

func (s shown) set(db int, d *database) { s[db].Store(d) }

// WarmTable is the first step. Unlike everything else, it needs no lock.
func (p *Part) WarmTable(db int, k *Key) {
	if d := p.shown[db].Load(); d != nil {
		mem.Prefetch(&d.slots[k.Slot>>shardBits])
	}
}

// WarmCells is the second step. With write set, the head of the segment is fetched too, which an insertion looks at.
func (p *Part) WarmCells(db int, k *Key, write bool) {
	d := p.dbs[db]
	if d == nil {
		return
	}
	tag := k.tag()
	w := p.segmentOf(&d.slots[k.Slot>>shardBits], tag)
	if w == 0 {
		return
	}
	p.arena.Prefetch(w.ref(), w.home(tag)*wordBytes, true)
	if write {
		p.arena.Prefetch(w.ref(), 0, false)
	}
}

// wordBytes is the size of a cell.
const wordBytes = 8

// WarmRecord is the third step.
func (p *Part) WarmRecord(db int, k *Key) {
	d := p.dbs[db]
	if d == nil {
		return
	}
	tag := k.tag()
	w := p.segmentOf(&d.slots[k.Slot>>shardBits], tag)
	if w == 0 {
		return
	}
	cells := p.arena.TailWords(w.ref())
	i := w.home(tag)
	for cellTag(cells[i]) < tag {
		i++
	}
	if cell := cells[i]; cellTag(cell) == tag && cell != emptyCell {
		p.arena.Prefetch(cellRef(cell), 0, true)
	}
}
