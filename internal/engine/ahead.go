package engine

import (
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/spec"
)

// A command with one key spends more than half of its time waiting for memory: the slot's table, the cells, the record, one
// after the other. So a worker looks at some commands of a pipeline before the first of them runs, and has the processor fetch
// what all of them are going to need. The waiting of one then overlaps with that of the others.
//
// A command with several keys has them all fetched when it has their locks. Where the first caches hold all
// keys anyway, looking ahead costs 15 ns a command.
//
// Looking decides nothing: whether a command may run, where its key is and what it holds is found out when its turn comes,
// under the shard's lock. A command that could change how the next one is read (AUTH, RESET, SELECT, MULTI and all others
// without a key) ends the look.

// aheadMax is how many commands are looked at together. A processor has some 16 to 64 misses under way at a time.
const aheadMax = 16

// seen is what was found out about a command before its turn.
type seen struct {
	input resp.Command
	bytes int      // of the input that it takes
	cmd   *Command // nil when it is no command with a single key
	key   keyspace.Key
	cold  bool   // the key is another one than that of the command before: nothing of it has been asked for
	hash  uint64 // of the member
}

func (one *seen) hasMember() bool {
	return one.cmd != nil && one.cmd.member != 0 && one.cmd.member < len(one.input.Args)
}

// memberOf is the index of the argument that a command with one key looks for in a hash, set or sorted set, 0 for others. With
// options before the score of ZADD it is a wrong one, which costs a line of the cache.
func memberOf(r *spec.Row) int {
	switch r.Full {
	case "hdel", "hexists", "hget", "hincrby", "hincrbyfloat", "hmget", "hmset", "hset", "hsetnx", "hstrlen",
		"sadd", "sismember", "smismember", "srem", "geohash", "geopos", "zmscore", "zrank", "zrem", "zrevrank", "zscore":
		return 2
	case "zadd", "zincrby":
		return 3
	case "geoadd":
		return 4
	}
	return 0
}

// ahead are the commands that a worker has looked at and not yet executed, list[next:count].
type ahead struct {
	next, count int
	list        [aheadMax]seen
}

// sharedInputBytes is the size up to which a buffer is kept by its transport anyway.
const sharedInputBytes = 64 << 10

// end forgets the commands of in: if their turn has not come it will in another call. A big buffer is not kept alive.
func (a *ahead) end(in []byte) {
	a.next, a.count = 0, 0
	if cap(in) <= sharedInputBytes {
		return
	}
	for i := range a.list {
		one := &a.list[i]
		clear(one.input.Args[:cap(one.input.Args)])
		one.key.Bytes = nil
	}
}

// take makes the next command of in the one under way. n is the number of bytes it takes, 0 when it is not there as a whole.
func (c *Ctx) take(in []byte) (n int, err error) {
	a := &c.W.ahead
	if a.next == a.count && !c.look(in) {
		n, err = c.S.parser.Parse(in, &c.W.cmd)
		c.Args, c.seen = c.W.cmd.Args, nil
		return n, err
	}
	one := &a.list[a.next]
	a.next++
	c.Args, c.seen = one.input.Args, one
	if one.cmd == nil {
		c.seen = nil
	}
	return one.bytes, nil
}

// look fills the list from in; false when the first command needs the careful parser.
func (c *Ctx) look(in []byte) bool {
	a := &c.W.ahead
	a.next, a.count = 0, 0
	for at := 0; a.count < aheadMax; {
		one := &a.list[a.count]
		one.bytes = c.S.parser.Whole(in[at:], &one.input)
		if one.bytes == 0 {
			break
		}
		at += one.bytes
		a.count++
		if a.count == 1 && at == len(in) {
			one.cmd = nil // it is alone: nothing would overlap
			return true
		}
		if !c.recognise(one) {
			break
		}
	}
	if a.count > 1 {
		c.warm()
	}
	return a.count > 0
}

// recognise finds the command and its key; false when it has not exactly one.
func (c *Ctx) recognise(one *seen) bool {
	one.cmd, one.cold = nil, false
	if len(one.input.Args) == 0 {
		return false
	}
	cmd := c.e.withOneKey(one.input.Args)
	if cmd == nil {
		return false
	}
	one.cmd = cmd
	one.key = c.e.hasher.Key(one.input.Args[cmd.simple])
	one.cold = true
	if n := c.W.ahead.count; n > 1 {
		one.cold = c.W.ahead.list[n-2].key.Hash != one.key.Hash
	}
	if one.cold {
		c.e.shardOf(&one.key).Part.WarmTable(c.S.db, &one.key)
	}
	return true
}

func (e *Engine) shardOf(k *keyspace.Key) *Shard { return &e.shards[keyspace.ShardOf(k.Slot)] }

// withOneKey is the command of some arguments if it has exactly one key, which is at index simple; nil for others.
func (e *Engine) withOneKey(args [][]byte) *Command {
	cmd, _ := e.lookup(args)
	if cmd == nil || cmd.run == nil || cmd.simple == 0 || cmd.simple >= len(args) {
		return nil
	}
	return cmd
}

// warmCells and warmRecord leave a shard out that somebody has: waiting would cost more than a miss.
func (e *Engine) warmCells(db int, k *keyspace.Key, write bool) {
	if s := e.shardOf(k); s.mu.TryLock() {
		s.Part.WarmCells(db, k, write)
		s.mu.Unlock()
	}
}

func (e *Engine) warmRecord(db int, k *keyspace.Key) {
	if s := e.shardOf(k); s.mu.TryLock() {
		s.Part.WarmRecord(db, k)
		s.mu.Unlock()
	}
}

// warm fetches the cells and then the records.
func (c *Ctx) warm() {
	list := c.W.ahead.list[:c.W.ahead.count]
	for i := range list {
		one := &list[i]
		if !one.cold {
			continue
		}
		c.e.warmCells(c.S.db, &one.key, one.cmd.write)
	}
	for i := range list {
		one := &list[i]
		if !one.cold {
			continue
		}
		c.e.warmRecord(c.S.db, &one.key)
	}
	for len(list) > 1 {
		n := 1
		for n < len(list) && !list[n].cold {
			n++
		}
		if n > 1 {
			c.warmMembers(list[:n])
		}
		list = list[n:]
	}
}

// warmMembers fetches what commands with the same key look for in its value.
func (c *Ctx) warmMembers(list []seen) {
	if !list[0].hasMember() { // what comes behind it is most likely of the same kind
		return
	}
	s := c.e.shardOf(&list[0].key)
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	rec, ok := s.Part.Find(c.S.db, &list[0].key)
	if !ok {
		return
	}
	members, ok := object.ColdTable(rec)
	if !ok {
		return
	}
	for i := range list {
		if one := &list[i]; one.hasMember() {
			one.hash = s.Part.HashMember(one.input.Args[one.cmd.member])
			members.WarmCell(one.hash)
		}
	}
	for i := range list {
		if one := &list[i]; one.hasMember() {
			members.WarmEntry(one.hash)
		}
	}
}

// warmKeysMax bounds how many keys of one command are fetched at once; the first would be pushed out again by more.
const warmKeysMax = 64

// warmKeys fetches what the keys of a command with several read. Their shards are locked.
func (c *Ctx) warmKeys() {
	keys := c.keys[:min(len(c.keys), warmKeysMax)]
	for i := range keys {
		c.Part(i).WarmTable(c.S.db, &keys[i])
	}
	for i := range keys {
		c.Part(i).WarmCells(c.S.db, &keys[i], c.Cmd.write)
	}
	for i := range keys {
		c.Part(i).WarmRecord(c.S.db, &keys[i])
	}
}
