package stream

// This file holds how a stream is copied.

// CopyFrom makes an empty stream equal to another one, which may lie in another arena.
func (s Stream) CopyFrom(from Stream) {
	t := from.nodes()
	for p := t.first(); p.ok(); p = t.next(p) {
		master, v := t.at(p)
		s.addNode(master, from.node(v[0]))
	}
	copy(s.head[:atNodes], from.head[:atNodes])
	for i := range from.Groups() {
		g := from.GroupAt(i)
		to, _ := s.AddGroup(g.Name(), g.LastID(), g.EntriesRead())
		to.copyFrom(g)
	}
}

func (g Group) copyFrom(from Group) {
	t := from.pending()
	for p := t.first(); p.ok(); p = t.next(p) {
		id, v := t.at(p)
		to, _ := g.AddPending(id)
		copy(to.words, v[:pendingWords-1]) // not the owner
	}
	for i := range from.Consumers() {
		c := from.ConsumerAt(i)
		to, _ := g.AddConsumer(c.Name(), c.SeenAt())
		to.SetActiveAt(c.ActiveAt())
		for it := from.OwnedFrom(c, ID{}); it.Next(); {
			p, _ := g.Pending(it.ID)
			g.Give(it.ID, p, to)
		}
	}
}
