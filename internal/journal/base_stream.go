package journal

import (
	"strconv"

	"github.com/covey-db/covey/internal/rdb"
)

// This file turns a stream into commands.

// streamState is the stream under way.
type streamState struct {
	open     bool
	entries  uint64
	meta     rdb.StreamMeta
	group    []byte
	pending  map[rdb.StreamID]rdb.StreamPending
	consumer []byte
	owned    bool // the consumer has an entry
}

func idText(id rdb.StreamID) []byte {
	b := strconv.AppendUint(nil, id.Ms, 10)
	b = append(b, '-')
	return strconv.AppendUint(b, id.Seq, 10)
}

// StreamStart implements rdb.ValueBuilder.
func (b *commander) StreamStart() error {
	b.stream = streamState{open: true}
	return nil
}

// StreamNode implements rdb.ValueBuilder: entries are wanted one by one.
func (b *commander) StreamNode(*rdb.StreamNode) (bool, error) { return false, nil }

// StreamEntry implements rdb.ValueBuilder.
func (b *commander) StreamEntry(id rdb.StreamID, pairs [][]byte) error {
	b.stream.entries++
	return b.add(append([][]byte{[]byte("XADD"), b.meta.Key, idText(id)}, pairs...)...)
}

// StreamMeta implements rdb.ValueBuilder. A stream without entries comes into being with one that is dropped at once.
func (b *commander) StreamMeta(m rdb.StreamMeta) error {
	b.stream.meta = m
	if b.stream.entries == 0 {
		id := m.LastID
		if id == (rdb.StreamID{}) {
			id.Seq = 1
		}
		if err := b.add(append(words("XADD"), b.meta.Key, []byte("MAXLEN"), []byte("0"), idText(id), []byte("x"), []byte("y"))...); err != nil {
			return err
		}
	}
	return b.add([]byte("XSETID"), b.meta.Key, idText(m.LastID), []byte("ENTRIESADDED"), strconv.AppendUint(nil, m.EntriesAdded, 10),
		[]byte("MAXDELETEDID"), idText(m.MaxDeleted))
}

// StreamGroup implements rdb.ValueBuilder.
func (b *commander) StreamGroup(g rdb.StreamGroup) error {
	if err := b.endConsumer(); err != nil {
		return err
	}
	b.stream.group = append([]byte(nil), g.Name...)
	b.stream.pending = make(map[rdb.StreamID]rdb.StreamPending)
	return b.add([]byte("XGROUP"), []byte("CREATE"), b.meta.Key, g.Name, idText(g.LastID), []byte("ENTRIESREAD"), integer(g.EntriesRead))
}

// StreamPending implements rdb.ValueBuilder.
func (b *commander) StreamPending(p rdb.StreamPending) error {
	b.stream.pending[p.ID] = p
	return nil
}

// StreamConsumer implements rdb.ValueBuilder.
func (b *commander) StreamConsumer(c rdb.StreamConsumer) error {
	if err := b.endConsumer(); err != nil {
		return err
	}
	b.stream.consumer, b.stream.owned = append([]byte(nil), c.Name...), false
	return nil
}

// StreamOwned implements rdb.ValueBuilder.
func (b *commander) StreamOwned(id rdb.StreamID) error {
	b.stream.owned = true
	p := b.stream.pending[id]
	return b.add([]byte("XCLAIM"), b.meta.Key, b.stream.group, b.stream.consumer, []byte("0"), idText(id), []byte("TIME"), integer(p.DeliveredAt),
		[]byte("RETRYCOUNT"), strconv.AppendUint(nil, p.Deliveries, 10), []byte("JUSTID"), []byte("FORCE"))
}

// endConsumer makes a consumer that owns nothing; the others have come with what they own.
func (b *commander) endConsumer() error {
	s := &b.stream
	name := s.consumer
	s.consumer = nil
	if name == nil || s.owned {
		return nil
	}
	return b.add([]byte("XGROUP"), []byte("CREATECONSUMER"), b.meta.Key, s.group, name)
}

func (b *commander) endStream() error {
	if !b.stream.open {
		return nil
	}
	err := b.endConsumer()
	b.stream = streamState{}
	return err
}
