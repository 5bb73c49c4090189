package stream

import "github.com/covey-db/covey/internal/mem"

// This file holds groups of consumers.
//
//	group, words before its name:
//
//	  0  last ID delivered (2)
//	  2  entries read, -1 when that is not known
//	  3  tree of pending entries (4): ID -> | time of delivery | number of deliveries | block of the consumer |
//	  7  directory of consumers (2)
//
//	consumer, words before its name:
//
//	  0  time of its last attempt to read
//	  1  time of its last success, -1 for none
//	  2  tree of the pending entries it owns (4): IDs without values
const (
	groupLast      = 0
	groupRead      = 2
	groupPending   = 3
	groupConsumers = groupPending + treeWords
	groupWords     = groupConsumers + dirWords

	consumerSeen   = 0
	consumerActive = 1
	consumerOwned  = 2
	consumerWords  = consumerOwned + treeWords

	pendingWords = 3
)

// Unknown is the number of entries read of a group that cannot tell.
const Unknown = -1

// Group is a view of a group, valid as long as it is there.
type Group struct {
	a    *mem.Arena
	ref  mem.Ref
	head []uint64
}

// Consumer is a view of a consumer, valid as long as it is there.
type Consumer struct {
	a    *mem.Arena
	ref  mem.Ref
	head []uint64
}

func (s Stream) groups() dir { return dir{s.a, s.head[atGroups : atGroups+dirWords], groupWords} }

func (s Stream) group(r mem.Ref) Group { return Group{s.a, r, s.a.Words(r, groupWords)} }

// Groups is the number of groups.
func (s Stream) Groups() int { return s.groups().len() }

// GroupAt is the i-th group in the order of their names.
func (s Stream) GroupAt(i int) Group { return s.group(s.groups().at(i)) }

// Group finds a group by its name.
func (s Stream) Group(name []byte) (Group, bool) {
	d := s.groups()
	i, ok := d.search(name)
	if !ok {
		return Group{}, false
	}
	return s.group(d.at(i)), true
}

// AddGroup makes a group; false when there is one of that name.
func (s Stream) AddGroup(name []byte, last ID, read int64) (Group, bool) {
	r, ok := s.groups().add(name)
	if !ok {
		return Group{}, false
	}
	g := s.group(r)
	g.SetLastID(last)
	g.SetEntriesRead(read)
	return g, true
}

func (s Stream) dropLastGroup() { s.groups().remove(s.Groups() - 1) }

// freeSome frees what hangs on a group, until about budget blocks are gone.
func (g Group) freeSome(budget int) (spent int, done bool) {
	t := g.pending()
	t.freeInner()
	spent, done = t.freeLeaves(budget, nil)
	d := g.consumers()
	for done && d.len() > 0 {
		if spent >= budget {
			return spent, false
		}
		var n int
		owned := g.ConsumerAt(d.len() - 1).owned()
		owned.freeInner()
		n, done = owned.freeLeaves(budget-spent, nil)
		spent += n + 1
		if done {
			d.remove(d.len() - 1)
		}
	}
	return spent, done
}

func (g Group) pending() tree {
	return tree{g.a, (*[treeWords]uint64)(g.head[groupPending:]), pendingWords}
}

func (g Group) consumers() dir {
	return dir{g.a, g.head[groupConsumers : groupConsumers+dirWords], consumerWords}
}

// Name is the name of the group, which lives as long as the group.
func (g Group) Name() []byte { return dir{a: g.a, words: groupWords}.name(g.ref) }

// LastID is the last ID that was delivered.
func (g Group) LastID() ID { return keyAt(g.head[groupLast:]) }

// SetLastID sets it.
func (g Group) SetLastID(id ID) { putKey(g.head[groupLast:], id) }

// EntriesRead is how many of the entries ever added the group has read; Unknown when it cannot tell.
func (g Group) EntriesRead() int64 { return int64(g.head[groupRead]) }

// SetEntriesRead sets it.
func (g Group) SetEntriesRead(n int64) { g.head[groupRead] = uint64(n) }

// PendingLen is the number of entries that wait to be acknowledged.
func (g Group) PendingLen() int { return g.pending().len() }

// Consumers is the number of consumers.
func (g Group) Consumers() int { return g.consumers().len() }

func (g Group) consumer(r mem.Ref) Consumer { return Consumer{g.a, r, g.a.Words(r, consumerWords)} }

// ConsumerAt is the i-th consumer in the order of their names.
func (g Group) ConsumerAt(i int) Consumer { return g.consumer(g.consumers().at(i)) }

// Consumer finds a consumer by its name.
func (g Group) Consumer(name []byte) (Consumer, bool) {
	d := g.consumers()
	i, ok := d.search(name)
	if !ok {
		return Consumer{}, false
	}
	return g.consumer(d.at(i)), true
}

// AddConsumer makes a consumer that was never successful; false when there is one of that name.
func (g Group) AddConsumer(name []byte, seen int64) (Consumer, bool) {
	r, ok := g.consumers().add(name)
	if !ok {
		return Consumer{}, false
	}
	c := g.consumer(r)
	c.SetSeenAt(seen)
	c.SetActiveAt(-1)
	return c, true
}

// RemoveConsumer removes a consumer with what it owns, and returns how many pending entries those were.
func (g Group) RemoveConsumer(name []byte) (pending int, found bool) {
	d := g.consumers()
	i, ok := d.search(name)
	if !ok {
		return 0, false
	}
	c := g.consumer(d.at(i))
	owned := c.owned()
	pending = owned.len()
	g.dropOwned(c)
	owned.freeInner()
	owned.freeLeaves(1<<62, nil)
	d.remove(i)
	return pending, true
}

// rebuildShare is the part of the pending entries from which on they are gone through in order, not looked up one by one.
const rebuildShare = 4

// dropOwned takes what a consumer owns out of the pending entries of the group.
func (g Group) dropOwned(c Consumer) {
	all, owned := g.pending(), c.owned()
	if owned.len() < removeAtOnce || owned.len() < all.len()/rebuildShare {
		for p := owned.first(); p.ok(); p = owned.next(p) {
			id, _ := owned.at(p)
			all.remove(id)
		}
		return
	}
	all.freeInner()
	r := mem.Ref(all.head[1])
	clear(all.head[:])
	for r != 0 {
		l := all.leaf(r)
		for i := range l.count {
			if v := l.value(i); mem.Ref(v[2]) != c.ref {
				to, _ := all.put(l.key(i))
				copy(to, v)
			}
		}
		next := mem.Ref(l.words[1])
		all.freeLeaf(r, l.capacity)
		r = next
	}
}

func (c Consumer) owned() tree {
	return tree{c.a, (*[treeWords]uint64)(c.head[consumerOwned:]), 0}
}

// Name is the name of the consumer, which lives as long as the consumer.
func (c Consumer) Name() []byte { return dir{a: c.a, words: consumerWords}.name(c.ref) }

// SeenAt is when it last tried to read, in milliseconds.
func (c Consumer) SeenAt() int64 { return int64(c.head[consumerSeen]) }

// SetSeenAt sets it.
func (c Consumer) SetSeenAt(ms int64) { c.head[consumerSeen] = uint64(ms) }

// ActiveAt is when it last got something, -1 for never.
func (c Consumer) ActiveAt() int64 { return int64(c.head[consumerActive]) }

// SetActiveAt sets it.
func (c Consumer) SetActiveAt(ms int64) { c.head[consumerActive] = uint64(ms) }

// PendingLen is the number of pending entries it owns.
func (c Consumer) PendingLen() int { return c.owned().len() }

// Is says whether both are the same consumer.
func (c Consumer) Is(d Consumer) bool { return c.ref == d.ref }
