package snapshot

import (
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds the passing on of a value's elements to its builder, each under the lock of the shard: a file that comes
// slowly, over a link, holds up nobody.

func (l *loader) lock() *engine.Shard { return l.e.Lock(l.shard) }

func (l *loader) String(v []byte) error {
	defer l.lock().Unlock()
	return l.named(l.value.String(v))
}

func (l *loader) Int(v int64) error {
	defer l.lock().Unlock()
	return l.named(l.value.Int(v))
}

func (l *loader) ListStart(n uint64) error {
	defer l.lock().Unlock()
	return l.named(l.value.ListStart(n))
}

func (l *loader) ListElem(v []byte) error {
	defer l.lock().Unlock()
	return l.named(l.value.ListElem(v))
}

func (l *loader) SetStart(n uint64) error {
	defer l.lock().Unlock()
	return l.named(l.value.SetStart(n))
}

func (l *loader) SetElem(v []byte) error {
	defer l.lock().Unlock()
	return l.named(l.value.SetElem(v))
}

func (l *loader) ZSetStart(n uint64) error {
	defer l.lock().Unlock()
	return l.named(l.value.ZSetStart(n))
}

func (l *loader) ZSetElem(member []byte, score float64) error {
	defer l.lock().Unlock()
	return l.named(l.value.ZSetElem(member, score))
}

func (l *loader) HashStart(n uint64) error {
	defer l.lock().Unlock()
	return l.named(l.value.HashStart(n))
}

func (l *loader) HashField(field, value []byte, expireAt int64) error {
	defer l.lock().Unlock()
	return l.named(l.value.HashField(field, value, expireAt))
}

func (l *loader) StreamStart() error {
	defer l.lock().Unlock()
	return l.named(l.value.StreamStart())
}

func (l *loader) StreamEntry(id rdb.StreamID, pairs [][]byte) error {
	defer l.lock().Unlock()
	return l.named(l.value.StreamEntry(id, pairs))
}

func (l *loader) StreamMeta(m rdb.StreamMeta) error {
	defer l.lock().Unlock()
	return l.named(l.value.StreamMeta(m))
}

func (l *loader) StreamGroup(g rdb.StreamGroup) error {
	defer l.lock().Unlock()
	return l.named(l.value.StreamGroup(g))
}

func (l *loader) StreamPending(p rdb.StreamPending) error {
	defer l.lock().Unlock()
	return l.named(l.value.StreamPending(p))
}

func (l *loader) StreamConsumer(c rdb.StreamConsumer) error {
	defer l.lock().Unlock()
	return l.named(l.value.StreamConsumer(c))
}

func (l *loader) StreamOwned(id rdb.StreamID) error {
	defer l.lock().Unlock()
	return l.named(l.value.StreamOwned(id))
}

func (l *loader) Module(m rdb.ModuleID) error {
	defer l.lock().Unlock()
	return l.named(l.value.Module(m))
}

func (l *loader) Packed(p rdb.Packed) (taken bool, err error) {
	defer l.lock().Unlock()
	taken, err = l.value.Packed(p)
	return taken, l.named(err)
}

func (l *loader) StreamNode(n *rdb.StreamNode) (taken bool, err error) {
	defer l.lock().Unlock()
	taken, err = l.value.StreamNode(n)
	return taken, l.named(err)
}
