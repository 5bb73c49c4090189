package object

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"testing"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/rdb"
)

// streamRig is a part for streams that come from outside.
type streamRig struct {
	testing.TB
	part   *keyspace.Part
	hasher keyspace.Hasher
	limits Limits
}

func newStreamRig(t testing.TB) *streamRig {
	arena := mem.NewArena(mem.Options{})
	rig := &streamRig{TB: t, hasher: keyspace.NewHasher(maphash.MakeSeed())}
	rig.part = keyspace.New(keyspace.Options{Databases: 1, Arena: arena, Dropper: NewDropper(arena)})
	rig.part.SetHasher(rig.hasher)
	rig.limits.SetDefaults()
	return rig
}

func (r *streamRig) place(name string) Place {
	k := r.hasher.Key([]byte(name))
	k.Slot = 0
	return Place{Part: r.part, Key: &k}
}

// restore builds a value from a type and what follows it; false when it is refused.
func (r *streamRig) restore(name string, value []byte) bool {
	var b Builder
	b.Begin(r.place(name), 0, &r.limits)
	if rdb.DecodeValue(value, &b) != nil {
		b.Abort()
		return false
	}
	return true
}

func (r *streamRig) open(name string) (keyspace.Rec, stream.Stream) {
	rec, ok := r.part.FindForWrite(0, r.place(name).Key)
	if !ok {
		r.Fatalf("%s is not there", name)
	}
	return rec, OpenStream(rec)
}

func (r *streamRig) close() {
	r.part.FlushDB(0)
	for r.part.FreeSome(1<<30) > 0 {
	}
	if err := r.part.Arena().CheckLeaks(); err != nil {
		r.Fatal(err)
	}
	r.part.Arena().Close()
}

// ids are the IDs of all entries, which are the same read from either end.
func (r *streamRig) ids(s stream.Stream) (ids []stream.ID) {
	for it := s.Range(stream.ID{}, stream.MaxID()); it.Next(); {
		for range it.Fields {
			it.Pair()
		}
		if n := len(ids); n > 0 && !ids[n-1].Less(it.ID) {
			r.Fatalf("%v stands before %v", ids[n-1], it.ID)
		}
		ids = append(ids, it.ID)
	}
	var back []stream.ID
	for it := s.RangeBack(stream.ID{}, stream.MaxID()); it.Next(); {
		back = append(back, it.ID)
	}
	slices.Reverse(back)
	if !slices.Equal(ids, back) {
		r.Fatalf("%v, but backwards %v", ids, back)
	}
	return ids
}

// check looks at everything that can be told of a stream, and returns the IDs of its entries.
func (r *streamRig) check(s stream.Stream) []stream.ID {
	ids := r.ids(s)
	first := stream.ID{}
	if len(ids) > 0 {
		first = ids[0]
	}
	if s.Len() != int64(len(ids)) || s.FirstID() != first {
		r.Fatalf("%d entries from %v on, but the stream says %d from %v on", len(ids), first, s.Len(), s.FirstID())
	}
	if len(ids) > 0 && s.LastID().Less(ids[len(ids)-1]) {
		r.Fatalf("%v comes after the last ID %v", ids[len(ids)-1], s.LastID())
	}
	for _, id := range ids {
		if !s.Has(id) {
			r.Fatalf("%v is not found", id)
		}
	}
	s.EachNode(func(_ stream.ID, lp []byte) {
		if err := listpack.Validate(lp, true); err != nil {
			r.Fatal(err)
		}
	})
	for i := range s.Groups() {
		g := s.GroupAt(i)
		if lag, known := s.Lag(g); known && lag < 0 || g.EntriesRead() < stream.Unknown {
			r.Fatalf("%q: %d entries read, lag %d", g.Name(), g.EntriesRead(), lag)
		}
		r.checkGroup(g)
	}
	s.RadixNodes()
	if got, want := s.Bytes(0), r.part.Arena().Stats().Used[mem.ForStream]; got > want {
		r.Fatalf("a stream of %d bytes, of %d in all", got, want)
	}
	return ids
}

// checkGroup: every pending entry has an owner, who knows of it.
func (r *streamRig) checkGroup(g stream.Group) {
	owned := 0
	for i := range g.Consumers() {
		c := g.ConsumerAt(i)
		for it := g.OwnedFrom(c, stream.ID{}); it.Next(); owned++ {
			if owner, ok := g.Owner(it.Pending()); !ok || !owner.Is(c) {
				r.Fatalf("%q has %v, which is not its own", c.Name(), it.ID)
			}
		}
	}
	if owned != g.PendingLen() {
		r.Fatalf("%d pending, %d of them owned", g.PendingLen(), owned)
	}
}

// checkSaved: a stream that is saved is loaded as it was.
func (r *streamRig) checkSaved() {
	rec, _ := r.open("s")
	saved := AppendTyped(nil, rec, nil)
	if !r.restore("again", saved) {
		r.Fatalf("our own stream is refused: %q", saved)
	}
	rec, s := r.open("again")
	if again := AppendTyped(nil, rec, nil); !bytes.Equal(saved, again) {
		r.Fatalf("saved\n%q\nloaded and saved\n%q", saved, again)
	}
	r.check(s)
}

// do changes a stream: step is what is done, and to which of the entries.
func (r *streamRig) do(s stream.Stream, step byte, ids []stream.ID) {
	id := s.LastID()
	if len(ids) > 0 {
		id = ids[int(step>>3)%len(ids)]
	}
	switch step & 7 {
	case 0:
		s.Delete([]stream.ID{id})
	case 1:
		TrimStream(r.part, s, stream.Trim{ByID: true, MinID: id, Approx: step > 127})
	case 2:
		TrimStream(r.part, s, stream.Trim{MaxLen: int64(step >> 3), Approx: step > 127})
	case 3:
		if next, ok := s.LastID().Next(); ok {
			s.Append(next, [][]byte{{'f'}, {step}, {step}, nil}[:2+step>>6&2], r.limits.StreamLimits())
		}
	default:
		r.doGroup(s, step, id)
	}
}

func (r *streamRig) doGroup(s stream.Stream, step byte, id stream.ID) {
	name := []byte{'g', '0' + step>>3&3}
	g, ok := s.Group(name)
	if s.Groups() > 0 && !ok {
		g, ok = s.GroupAt(int(step>>3)%s.Groups()), true
	}
	switch {
	case !ok:
		s.AddGroup(name, id, stream.Unknown)
	case step&7 == 4:
		c, found := g.Consumer(name)
		if !found {
			c, _ = g.AddConsumer(name, 1)
		}
		p, _ := g.AddPending(id)
		g.Give(id, p, c)
		s.Advance(g, id)
	case step&7 == 5:
		if last, ok := g.LastPending(); ok {
			g.Ack(last)
		}
	case step&7 == 6 && g.Consumers() > 0:
		g.RemoveConsumer(slices.Clone(g.ConsumerAt(0).Name()))
	case step&7 == 7 && step > 127:
		RemoveGroup(r.part, s, slices.Clone(g.Name()))
	}
}

// hostileStreams are values to begin with: streams of several nodes, with tombstones, entries with names of their own, and groups.
func hostileStreams(f *testing.F) (values [][]byte) {
	f.Helper()
	rig := newStreamRig(f)
	defer rig.close()
	for i := range 4 {
		key := "s" + strconv.Itoa(i)
		s := NewStream(rig.place(key))
		for n := range i * 3 {
			words := [][]byte{{'a'}, strconv.AppendInt(nil, int64(n)<<(8*n), 10), {'b'}, nil}
			s.Append(stream.ID{Ms: uint64(n + 1), Seq: uint64(n)}, words[:2+2*(n&1)], stream.Limits{Entries: 4})
		}
		for step := range byte(10 * i) {
			rig.do(s, step*23, rig.ids(s))
		}
		rec, _ := rig.open(key)
		values = append(values, AppendTyped(nil, rec, nil)[1:])
	}
	return values
}

// FuzzStream: whatever the bytes are, what is made of them is refused, or is a sound stream and stays one.
func FuzzStream(f *testing.F) {
	for i, value := range hostileStreams(f) {
		f.Add(uint8(1), value, []byte{0, 8, 4, 12, 1, 3, 67, 2, 5, 6, 255}[i:])
	}
	types := []rdb.Type{rdb.TypeStream1, rdb.TypeStream2, rdb.TypeStream3}
	f.Fuzz(func(t *testing.T, form uint8, value, steps []byte) {
		rig := newStreamRig(t)
		defer rig.close()
		if !rig.restore("s", append(rdb.AppendType(nil, types[int(form)%len(types)]), value...)) {
			return
		}
		_, s := rig.open("s")
		ids := rig.check(s)
		rig.checkSaved()
		for _, step := range steps[:min(len(steps), 32)] {
			rig.do(s, step, ids)
			ids = rig.check(s)
		}
		rig.checkSaved()
		rec, _ := rig.open("s")
		copyStream(rig.place("copy"), rec)
		_, s = rig.open("copy")
		rig.check(s)
	})
}
