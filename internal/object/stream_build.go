package object

import (
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how a stream is made of what an RDB decoder reads.

// streamBuild is a stream that is being built.
type streamBuild struct {
	s       stream.Stream
	begun   bool // it has entries
	last    stream.ID
	group   stream.Group
	reader  stream.Consumer
	unowned int // entries pending in the group that no consumer owns yet
}

// Errors of streams that only show when they are put together.
const (
	errStreamOwner rdb.Damage = "pending entry has no consumer, or two"
	errStreamEntry rdb.Damage = "stream entry is too big"
)

// StreamStart implements rdb.ValueBuilder.
func (b *Builder) StreamStart() error {
	b.kind = keyspace.TypeStream
	b.stream = streamBuild{s: stream.New(b.at.Part.Arena())}
	return nil
}

// StreamNode implements rdb.ValueBuilder. A node is kept as it is when its master ID lies where it belongs: above all
// entries before, and not above its own. One without live entries is left out.
func (b *Builder) StreamNode(n *rdb.StreamNode) (taken bool, err error) {
	st := &b.stream
	if n.Live == 0 {
		return true, nil
	}
	master := stream.ID(n.Master)
	if st.begun && !st.last.Less(master) || stream.ID(n.First).Less(master) {
		return false, nil
	}
	st.s.AddNode(master, n.Bytes, n.Live)
	st.passed(stream.ID(n.Last))
	return true, nil
}

// passed notes the greatest ID so far.
func (st *streamBuild) passed(id stream.ID) {
	st.last, st.begun = id, true
	st.s.SetLastID(id)
}

// StreamEntry implements rdb.ValueBuilder.
func (b *Builder) StreamEntry(id rdb.StreamID, pairs [][]byte) error {
	if !b.stream.s.Append(stream.ID(id), pairs, b.limits.StreamLimits()) {
		return errStreamEntry
	}
	b.stream.passed(stream.ID(id))
	return nil
}

// StreamMeta implements rdb.ValueBuilder.
func (b *Builder) StreamMeta(m rdb.StreamMeta) error {
	b.stream.s.SetMeta(stream.ID(m.FirstID), stream.ID(m.LastID), stream.ID(m.MaxDeleted), m.EntriesAdded)
	return nil
}

// StreamGroup implements rdb.ValueBuilder.
func (b *Builder) StreamGroup(g rdb.StreamGroup) error {
	if err := b.stream.endGroup(); err != nil {
		return err
	}
	var ok bool
	if b.stream.group, ok = b.stream.s.AddGroup(g.Name, stream.ID(g.LastID), g.EntriesRead); !ok {
		return rdb.ErrDuplicate
	}
	return nil
}

func (st *streamBuild) endGroup() error {
	if st.unowned != 0 {
		return errStreamOwner
	}
	return nil
}

// StreamPending implements rdb.ValueBuilder.
func (b *Builder) StreamPending(p rdb.StreamPending) error {
	pending, added := b.stream.group.AddPending(stream.ID(p.ID))
	if !added {
		return rdb.ErrDuplicate
	}
	pending.SetDeliveredAt(p.DeliveredAt)
	pending.SetDeliveries(int64(p.Deliveries))
	b.stream.unowned++
	return nil
}

// StreamConsumer implements rdb.ValueBuilder.
func (b *Builder) StreamConsumer(c rdb.StreamConsumer) error {
	var ok bool
	if b.stream.reader, ok = b.stream.group.AddConsumer(c.Name, c.SeenAt); !ok {
		return rdb.ErrDuplicate
	}
	b.stream.reader.SetActiveAt(c.ActiveAt)
	return nil
}

// StreamOwned implements rdb.ValueBuilder.
func (b *Builder) StreamOwned(id rdb.StreamID) error {
	st := &b.stream
	pending, ok := st.group.Pending(stream.ID(id))
	if !ok {
		return errStreamOwner
	}
	if _, owned := st.group.Owner(pending); owned {
		return errStreamOwner
	}
	st.group.Give(stream.ID(id), pending, st.reader)
	st.unowned--
	return nil
}

// endStream puts a stream that was built at its place.
func (b *Builder) endStream() error {
	if err := b.stream.endGroup(); err != nil {
		return err
	}
	putStream(b.at, b.stream.s, b.expireAt)
	b.stream = streamBuild{}
	return nil
}

// abortStream frees a stream that is not finished.
func (b *Builder) abortStream() {
	_, done := stream.FreeSome(b.at.Part.Arena(), b.stream.s.Root(), dropAll)
	invariant.That(done, "object: a stream is not freed")
	b.stream = streamBuild{}
}

// putStream puts a stream at a place. The number of elements in the record stays zero: the stream knows it.
func putStream(at Place, s stream.Stream, expireAt int64) {
	at.Part.PutRoot(at.DB, at.Key, keyspace.TypeStream, keyspace.EncStream, s.Root(), 0, expireAt)
}
