package keyspace

import "github.com/covey-db/covey/internal/mem"

// This file holds the figures of memory.

// cellShare is what a key takes in its table, with the room that segments have on average.
const cellShare = 10

// RecSize is about what a key takes, with its record, blob and cell, but without what a root names.
func RecSize(r Rec) int {
	size := mem.Usable(r.size()) + cellShare
	if r.flags()&isBlob != 0 {
		_, capacity, _ := r.blob()
		size += capacity
	}
	return size
}

// Memory is what the part holds.
func (p *Part) Memory() mem.Stats { return p.arena.Stats() }
