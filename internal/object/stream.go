package object

import (
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds streams: how they are found, saved and copied.

// OpenStream is the stream of a record.
func OpenStream(r keyspace.Rec) stream.Stream {
	root, _ := r.Root()
	return stream.Open(r.Arena(), root)
}

// NewStream puts an empty stream at a place.
func NewStream(at Place) stream.Stream {
	s := stream.New(at.Part.Arena())
	putStream(at, s, 0)
	return s
}

// TrimStream cuts entries off at the start of a stream, and returns how many. Very many are freed in slices.
func TrimStream(p *keyspace.Part, s stream.Stream, o stream.Trim) (deleted int64) {
	deleted, husk := s.Trim(o)
	dropHusk(p, husk)
	return deleted
}

// RemoveGroup removes a group with what is pending in it; false when there is none of that name.
func RemoveGroup(p *keyspace.Part, s stream.Stream, name []byte) (found bool) {
	husk, found := s.RemoveGroup(name)
	dropHusk(p, husk)
	return found
}

func dropHusk(p *keyspace.Part, husk mem.Ref) {
	if husk != 0 {
		p.DropRoot(keyspace.TypeStream, keyspace.EncStream, husk, 0)
	}
}

// StreamLimits are the limits of nodes.
func (l *Limits) StreamLimits() stream.Limits {
	return stream.Limits{Bytes: l.StreamBytes.Load(), Entries: l.StreamNodes.Load()}
}

// stream writes a stream as rdb.TypeStream2.
func (s *Saver) stream(from stream.Stream) {
	s.Dst = rdb.AppendLen(s.Dst, uint64(from.Nodes()))
	from.EachNode(func(master stream.ID, lp []byte) {
		if !s.ended {
			s.Dst = rdb.AppendStreamMaster(s.Dst, rdb.StreamID(master))
			s.bytes(lp)
		}
	})
	s.Dst = rdb.AppendStreamMeta(s.Dst, rdb.StreamMeta{
		Length:       uint64(from.Len()),
		FirstID:      rdb.StreamID(from.FirstID()),
		LastID:       rdb.StreamID(from.LastID()),
		MaxDeleted:   rdb.StreamID(from.MaxDeletedID()),
		EntriesAdded: uint64(from.EntriesAdded()),
	})
	s.Dst = rdb.AppendLen(s.Dst, uint64(from.Groups()))
	for i := 0; i < from.Groups() && s.goesOn(); i++ {
		s.group(from.GroupAt(i))
	}
}

func (s *Saver) group(g stream.Group) {
	s.Dst = rdb.AppendStreamGroup(s.Dst, rdb.StreamGroup{
		Name: g.Name(), LastID: rdb.StreamID(g.LastID()), EntriesRead: g.EntriesRead(),
	})
	s.Dst = rdb.AppendLen(s.Dst, uint64(g.PendingLen()))
	for it := g.PendingFrom(stream.ID{}); it.Next() && s.goesOn(); {
		p := it.Pending()
		s.Dst = rdb.AppendStreamPending(s.Dst, rdb.StreamPending{
			ID: rdb.StreamID(it.ID), DeliveredAt: p.DeliveredAt(), Deliveries: uint64(p.Deliveries()),
		})
	}
	s.Dst = rdb.AppendLen(s.Dst, uint64(g.Consumers()))
	for i := 0; i < g.Consumers() && s.goesOn(); i++ {
		c := g.ConsumerAt(i)
		s.Dst = rdb.AppendStreamConsumer(s.Dst, rdb.StreamConsumer{Name: c.Name(), SeenAt: c.SeenAt()})
		s.Dst = rdb.AppendLen(s.Dst, uint64(c.PendingLen()))
		for it := g.OwnedFrom(c, stream.ID{}); it.Next() && s.goesOn(); {
			s.Dst = rdb.AppendStreamID(s.Dst, rdb.StreamID(it.ID))
		}
	}
}

// weightOfStream is Weight of a stream: of its nodes, and of what its groups wait for.
func weightOfStream(r keyspace.Rec) (bytes int64) {
	s := OpenStream(r)
	if n := max(s.Nodes(), s.Groups()); n > weighedNodes {
		return int64(n) << 13
	}
	s.EachNode(func(_ stream.ID, lp []byte) { bytes += int64(len(lp)) })
	for i := range s.Groups() {
		g := s.GroupAt(i)
		bytes += int64(g.PendingLen()+g.Consumers()) * elemWeight
	}
	return bytes
}

// copyStream puts a copy of a stream at a place. Unlike one that is saved and loaded, it knows when its consumers were
// active.
func copyStream(to Place, r keyspace.Rec) {
	from, s := OpenStream(r), stream.New(to.Part.Arena())
	s.CopyFrom(from)
	putStream(to, s, r.ExpireAt())
}
