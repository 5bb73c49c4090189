package keyspace

// This file holds the second set of databases: what is loaded into it is beside the data that is served, until it takes the
// place of that data as a whole or is put aside. Nothing in it expires.

// Staged is the index of the database that waits to take the place of the given one. The calls that take the index of a
// database take it too.
func (p *Part) Staged(db int) int { return p.databases + db }

// TakeStaged empties every database and puts the waiting one in its place.
func (p *Part) TakeStaged() {
	for db := range p.databases {
		p.detachDB(db)
		p.SwapDB(db, p.Staged(db))
	}
	p.schedule.release()
}

// DropStaged empties the waiting databases. Their memory is freed by FreeSome.
func (p *Part) DropStaged() {
	for db := range p.databases {
		p.detachDB(p.Staged(db))
	}
	p.schedule.held = nil
}
