package bus

import (
	"net"
	"strconv"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds what the hands do to this node's role and data.

// lead makes this node a primary that keeps its data.
func (b *Bus) lead() {
	b.followed.Store(nil)
	b.repl.Promote()
	if b.e.Role.IsReplica() { // it had nobody to follow yet
		b.e.LockAll()
		b.e.Log.Rename(replication.NewID())
		b.e.Role.SetReplica(false)
		b.e.UnlockAll()
	}
}

// follow makes this node a replica.
func (b *Bus) follow(x core.Follow) {
	b.followed.Store(nil)
	b.repl.Follow(net.JoinHostPort(x.Host.String(), strconv.Itoa(int(x.Port))))
	b.followed.Store(&x.Primary)
}

// trashPerHold is how many records are freed under one hold of a lock: some 50 µs.
const trashPerHold = 512

// flush drops all data. The history of the stream ends with it.
func (b *Bus) flush() {
	b.e.LockAll()
	b.e.EmptyAll()
	b.e.Log.NewID(replication.NewID())
	b.repl.DropReplicas()
	b.e.UnlockAll()
	b.e.FreeTrash(trashPerHold)
}

// pause stops writes and tells the core the offset behind the last one. Taking all shard locks once is the barrier: a
// write that had passed the check before has ended, and none passes it any more.
func (b *Bus) pause(token uint64, left clock.Millis) {
	now := b.e.Clock.Now()
	b.e.Pause.Begin(engine.PauseByFailover, engine.PauseWrites, now, now+max(left, 1))
	b.e.LockAll()
	offset := b.e.Log.End()
	b.e.UnlockAll()
	b.post(letter{event: core.Paused{Token: token, Offset: uint64(offset)}})
}

func (b *Bus) resume() { b.e.Pause.End(engine.PauseByFailover, b.e.Clock.Now()) }

// slotsWithKeys tells which slots hold keys.
func (b *Bus) slotsWithKeys() *slot.Set {
	var set slot.Set
	for shard := range b.e.Shards() {
		s := b.e.Lock(shard)
		for at := slot.ID(shard); at < slot.Count; at += keyspace.Shards {
			if s.Part.Count(0, at) > 0 {
				set.Add(at)
			}
		}
		s.Unlock()
	}
	return &set
}

// keysTotal counts all keys.
func (b *Bus) keysTotal() int {
	total := 0
	for shard := range b.e.Shards() {
		s := b.e.Lock(shard)
		total += int(s.Part.Len(0))
		s.Unlock()
	}
	return total
}

// purge drops the keys of slots that this node has lost. Commands have not reached them since the flip.
func (b *Bus) purge(lost *slot.Set) {
	for first, last := range lost.Ranges {
		for s := first; s <= last; s++ {
			b.purgeSlot(s)
		}
	}
	b.e.FreeTrash(trashPerHold)
}

// purgeKeys is how many keys of a slot go under one hold of its shard's lock: some 100 µs.
const purgeKeys = 256

// purgeSlot drops one slot: as a whole when nobody reads the log, otherwise key by key, because replicas must drop them too.
func (b *Bus) purgeSlot(s slot.ID) {
	for {
		shard := b.e.Lock(keyspace.ShardOf(s))
		part := shard.Part
		if part.Count(0, s) == 0 {
			shard.Unlock()
			return
		}
		if !b.e.Log.On() {
			part.DetachSlot(0, s)
			shard.Unlock()
			return
		}
		words := [][]byte{[]byte("DEL")}
		part.Each(0, s, func(r keyspace.Rec) bool {
			words = append(words, append([]byte(nil), r.Key()...))
			return len(words) <= purgeKeys
		})
		for _, name := range words[1:] {
			key := b.e.Key(name)
			part.Delete(0, &key)
		}
		b.e.Log.AppendCommand(resp.AppendCommand(nil, words...))
		shard.Unlock()
	}
}
