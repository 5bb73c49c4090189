package object

import (
	"github.com/covey-db/covey/internal/checksum"
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

// appendStream appends a stream as rdb.TypeStream2.
func appendStream(dst []byte, s stream.Stream, lzf *checksum.LZF) []byte {
	dst = rdb.AppendLen(dst, uint64(s.Nodes()))
	s.EachNode(func(master stream.ID, lp []byte) {
		dst = rdb.AppendStreamMaster(dst, rdb.StreamID(master))
		dst = rdb.AppendString(dst, lp, lzf)
	})
	dst = rdb.AppendStreamMeta(dst, rdb.StreamMeta{
		Length:       uint64(s.Len()),
		FirstID:      rdb.StreamID(s.FirstID()),
		LastID:       rdb.StreamID(s.LastID()),
		MaxDeleted:   rdb.StreamID(s.MaxDeletedID()),
		EntriesAdded: uint64(s.EntriesAdded()),
	})
	dst = rdb.AppendLen(dst, uint64(s.Groups()))
	for i := range s.Groups() {
		dst = appendGroup(dst, s.GroupAt(i))
	}
	return dst
}

func appendGroup(dst []byte, g stream.Group) []byte {
	dst = rdb.AppendStreamGroup(dst, rdb.StreamGroup{
		Name: g.Name(), LastID: rdb.StreamID(g.LastID()), EntriesRead: g.EntriesRead(),
	})
	dst = rdb.AppendLen(dst, uint64(g.PendingLen()))
	for it := g.PendingFrom(stream.ID{}); it.Next(); {
		p := it.Pending()
		dst = rdb.AppendStreamPending(dst, rdb.StreamPending{
			ID: rdb.StreamID(it.ID), DeliveredAt: p.DeliveredAt(), Deliveries: uint64(p.Deliveries()),
		})
	}
	dst = rdb.AppendLen(dst, uint64(g.Consumers()))
	for i := range g.Consumers() {
		c := g.ConsumerAt(i)
		dst = rdb.AppendStreamConsumer(dst, rdb.StreamConsumer{Name: c.Name(), SeenAt: c.SeenAt()})
		dst = rdb.AppendLen(dst, uint64(c.PendingLen()))
		for it := g.OwnedFrom(c, stream.ID{}); it.Next(); {
			dst = rdb.AppendStreamID(dst, rdb.StreamID(it.ID))
		}
	}
	return dst
}

// copyStream puts a copy of a stream at a place. Unlike one that is saved and loaded, it knows when its consumers were
// active.
func copyStream(to Place, r keyspace.Rec) {
	from, s := OpenStream(r), stream.New(to.Part.Arena())
	s.CopyFrom(from)
	putStream(to, s, r.ExpireAt())
}
