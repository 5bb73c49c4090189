package keyspace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the model test: a part does whatever comes, and a Go map says what must be there.

const (
	testDBs   = 3
	allDBs    = 2 * testDBs // those that are staged come last
	testShard = 5
	rootBytes = 24 // what a root of the test takes
)

// entry is what the model knows about a key.
type entry struct {
	t        Type
	e        Encoding
	val      string // for a root its number
	length   uint64
	expireAt int64
	clock    uint32
}

// id is a key of the model.
type id struct {
	db   int
	name string
}

// cut is what the model expects of a lane.
type cut struct {
	want   map[id]entry // what was there at the cut and has not come yet
	slots  *slot.Set
	places []id // database and slot (as a number) that the walker has still to visit
	from   uint32
	ended  bool
}

// scanning is a scan under way.
type scanning struct {
	db     int
	slot   slot.ID
	cursor uint32
	met    map[string]int
	must   map[string]bool // what was there from the start on
}

// machine is a part with its model.
type machine struct {
	arena *mem.Arena
	p     *Part
	model map[id]entry
	roots map[uint64]bool // numbers of the roots that are alive
	next  uint64
	cuts  [Lanes]*cut
	pins  []*pinned // values that cuts have pinned, some of which may be ended
	scan  *scanning
	hash  func(name string) uint64
	fail  func(format string, args ...any)
}

func newMachine(fail func(string, ...any)) *machine {
	m := &machine{
		arena: mem.NewArena(mem.Options{}),
		model: make(map[id]entry),
		roots: make(map[uint64]bool),
		hash:  func(name string) uint64 { return mixName(name) },
		fail:  fail,
	}
	m.p = New(Options{Shard: testShard, Databases: testDBs, Arena: m.arena, Dropper: m})
	return m
}

// mixName is a hash that is the same in every run.
func mixName(name string) uint64 {
	h := dice(14695981039346656037)
	for i := range len(name) {
		h ^= dice(name[i])
		h = dice(h.next())
	}
	return h.next()
}

// key is the key of a name. Its slot is one of three of the shard, chosen by the first byte.
func (m *machine) key(name string) *Key {
	return &Key{Bytes: []byte(name), Slot: testSlot(int(name[0]) % 3), Hash: uint32(m.hash(name) >> 32)}
}

func testSlot(n int) slot.ID { return slot.ID(n*3<<shardBits | testShard) }

// Drop frees a root.
func (m *machine) Drop(_ Type, _ Encoding, root mem.Ref, _ uint64) {
	number := m.rootNumber(root)
	if !m.roots[number] {
		m.fail("root %d is dropped twice", number)
	}
	delete(m.roots, number)
	m.arena.Free(mem.ForOther, root, rootBytes)
}

// DueAt implements Dropper: nothing is scheduled.
func (m *machine) DueAt(Rec) int64 { return NotDue }

// Trash counts nothing.
func (m *machine) Trash() (pending, freed int64) { return 0, 0 }

// FreeSome has nothing put aside.
func (m *machine) FreeSome(int) int64 { return 0 }

func (m *machine) newRoot() (mem.Ref, uint64) {
	m.next++
	ref := m.arena.Alloc(mem.ForOther, rootBytes)
	binary.LittleEndian.PutUint64(m.arena.Bytes(ref, rootBytes), m.next)
	m.roots[m.next] = true
	return ref, m.next
}

func (m *machine) rootNumber(root mem.Ref) uint64 {
	return binary.LittleEndian.Uint64(m.arena.Bytes(root, rootBytes))
}

// read is what a record says.
func (m *machine) read(r Rec) entry {
	e := entry{t: r.Type(), e: r.Encoding(), expireAt: r.ExpireAt(), clock: r.Clock()}
	switch {
	case r.IsRoot():
		root, length := r.Root()
		e.val, e.length = strconv.FormatUint(m.rootNumber(root), 10), length
	case r.Encoding() == EncInt:
		e.val = strconv.FormatInt(r.Int(), 10)
	default:
		e.val = string(r.Value())
	}
	return e
}

// expected is the entry of a string that was just set.
func (m *machine) expected(val string, expireAt int64) entry {
	e := entry{t: TypeString, e: EncRaw, val: val, expireAt: expireAt}
	if n, err := strconv.ParseInt(val, 10, 64); err == nil && strconv.FormatInt(n, 10) == val {
		e.e = EncInt
	} else if len(val) <= EmbstrMax {
		e.e = EncEmbstr
	}
	return e
}

// set notes a value that was put.
func (m *machine) set(db int, name string, e entry, replaced bool) {
	old, had := m.model[id{db, name}]
	if had != replaced {
		m.fail("%d/%q: replaced is %v", db, name, replaced)
	}
	e.clock = m.p.clock
	if had && m.p.keep {
		e.clock = old.clock
	}
	m.model[id{db, name}] = e
}

func (m *machine) forget(db int, name string) {
	delete(m.model, id{db, name})
	if m.scan != nil && m.scan.db == db {
		delete(m.scan.must, name)
	}
}

// gone notes that all keys of a database that match are gone.
func (m *machine) gone(db int, match func(name string) bool) {
	for k := range m.model {
		if k.db == db && match(k.name) {
			m.forget(db, k.name)
		}
	}
}

// verify compares everything.
func (m *machine) verify() {
	if err := m.p.Check(); err != nil {
		m.fail("%v", err)
	}
	if err := m.arena.Check(); err != nil {
		m.fail("%v", err)
	}
	lens := [allDBs]int64{}
	volatile := [allDBs]int64{}
	for k, want := range m.model {
		rec, ok := m.p.Find(k.db, m.key(k.name))
		if !ok {
			m.fail("%d/%.20q is not found", k.db, k.name)
		}
		if got := m.read(rec); got != want || string(rec.Key()) != k.name {
			m.fail("%d/%.20q is %.200v, must be %.200v", k.db, k.name, got, want)
		}
		lens[k.db]++
		if want.expireAt != 0 {
			volatile[k.db]++
		}
	}
	for db := range allDBs {
		if m.p.Len(db) != lens[db] || m.p.Expires(db) != volatile[db] {
			m.fail("database %d has %d keys, %d volatile, must be %d, %d", db, m.p.Len(db), m.p.Expires(db), lens[db], volatile[db])
		}
	}
}

// close empties everything and looks for leaks.
func (m *machine) close() {
	for l := range Lane(Lanes) {
		m.unpin(l, 1<<30)
		m.p.EndEpoch(l)
		for m.p.DrainEpoch(l, 100) {
		}
	}
	for db := range allDBs {
		m.p.FlushDB(db)
	}
	for m.p.FreeSome(1000) > 0 {
	}
	if len(m.p.trash) != 0 || len(m.roots) != 0 {
		m.fail("%d pieces of trash and %d roots are left", len(m.p.trash), len(m.roots))
	}
	if err := m.arena.CheckLeaks(); err != nil {
		m.fail("%v", err)
	}
	m.arena.Close()
}

// BeforeChange is the observer of lane 0; lane 1 has another.
func (m *machine) BeforeChange(db int, r Rec) { m.handed(0, db, r) }

type laneObserver struct {
	m *machine
	l Lane
}

func (o laneObserver) BeforeChange(db int, r Rec) { o.m.handed(o.l, db, r) }

// handed compares what a lane was handed with what was there at the cut.
func (m *machine) handed(l Lane, db int, r Rec) {
	c := m.cuts[l]
	if c == nil || c.ended {
		m.fail("lane %d: %q is handed over after the end", l, r.Key())
		return
	}
	k := id{db, string(r.Key())}
	want, ok := c.want[k]
	if !ok {
		m.fail("lane %d: %d/%.20q is handed over twice, or was not there", l, db, k.name)
	}
	if got := m.read(r); !m.maybePin(l, r, want) && got != want {
		m.fail("lane %d: %d/%.20q is %.200v, must be %.200v", l, db, k.name, got, want)
	}
	delete(c.want, k)
}

// begin starts a cut.
func (m *machine) begin(t *rapid.T) {
	l := Lane(rapid.IntRange(0, Lanes-1).Draw(t, "lane"))
	if m.cuts[l] != nil || m.p.Pending(l) > 0 {
		if m.p.Pending(l) > 0 && m.p.BeginEpoch(l, nil, m) {
			m.fail("lane %d begins twice", l)
		}
		return
	}
	c := &cut{want: make(map[id]entry)}
	var observer Observer = m
	if l != 0 || rapid.Bool().Draw(t, "subset") {
		c.slots = new(slot.Set)
		for n := range 3 {
			if rapid.Bool().Draw(t, "in") {
				c.slots.Add(testSlot(n))
			}
		}
		observer = laneObserver{m, l}
	}
	for k, e := range m.model {
		if k.db < testDBs && (c.slots == nil || c.slots.Has(m.key(k.name).Slot)) {
			c.want[k] = e
		}
	}
	for db := range testDBs {
		for n := range 3 {
			c.places = append(c.places, id{db, string(rune('0' + n))})
		}
	}
	m.cuts[l] = c
	if !m.p.BeginEpoch(l, c.slots, observer) {
		m.fail("lane %d does not begin", l)
	}
}

// visit lets the walker of a cut go on, and ends the cut when it is through.
func (m *machine) visit(t *rapid.T) {
	l := Lane(rapid.IntRange(0, Lanes-1).Draw(t, "lane"))
	c := m.cuts[l]
	if c == nil {
		if !m.p.EndEpoch(l) {
			m.p.DrainEpoch(l, rapid.IntRange(1, 50).Draw(t, "budget"))
		}
		return
	}
	for range rapid.IntRange(1, 5).Draw(t, "steps") {
		if len(c.places) == 0 {
			break
		}
		at := c.places[0]
		next, done := m.p.VisitSlot(l, at.db, testSlot(int(at.name[0]-'0')), c.from, rapid.IntRange(1, 60).Draw(t, "budget"),
			func(r Rec) int { m.handed(l, at.db, r); return 1 })
		c.from = next
		if done {
			c.places, c.from = c.places[1:], 0
		}
	}
	abort := rapid.IntRange(0, 9).Draw(t, "abort") == 0
	if len(c.places) > 0 && !abort {
		return
	}
	if len(c.places) == 0 && len(c.want) > 0 {
		m.fail("lane %d: %d keys were not handed over", l, len(c.want))
	}
	c.ended = true
	m.unpin(l, 1<<30)
	if clean := m.p.EndEpoch(l); !clean && len(c.places) == 0 {
		m.fail("lane %d is not clean after the walk", l)
	}
	m.cuts[l] = nil
}

// step takes the scan on, and compares what it has met when it is through.
func (m *machine) step(t *rapid.T) {
	if m.scan == nil {
		s := &scanning{
			db:   rapid.IntRange(0, testDBs-1).Draw(t, "db"),
			slot: testSlot(rapid.IntRange(0, 2).Draw(t, "slot")),
			met:  make(map[string]int),
			must: make(map[string]bool),
		}
		for k := range m.model {
			if k.db == s.db && m.key(k.name).Slot == s.slot {
				s.must[k.name] = true
			}
		}
		m.scan = s
	}
	s := m.scan
	next, done := m.p.Scan(s.db, s.slot, s.cursor, rapid.IntRange(1, 40).Draw(t, "count"), func(r Rec) {
		s.met[string(r.Key())]++
	})
	if !done {
		s.cursor = next
		return
	}
	for name := range s.must {
		if s.met[name] != 1 {
			m.fail("the scan of a slot has met %.20q %d times, which was there all the time", name, s.met[name])
		}
	}
	m.scan = nil
}

// names are few, so that keys meet again; now and then a long one.
func names() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		name := fmt.Sprintf("%c%d", 'a'+rapid.IntRange(0, 2).Draw(t, "slot"), rapid.IntRange(0, 400).Draw(t, "number"))
		switch rapid.IntRange(0, 30).Draw(t, "kind") {
		case 0:
			return name[:1] + string(bytes.Repeat([]byte(name[1:2]), 240)) + name[2:]
		case 1:
			return name[:1] + string(bytes.Repeat([]byte(name[1:2]), 300)) + name[2:]
		default:
			return name
		}
	})
}

// lengths are around the limits of the layouts.
func lengths() *rapid.Generator[int] {
	return rapid.OneOf(
		rapid.IntRange(0, 60), rapid.IntRange(0, 60), rapid.IntRange(0, 60), rapid.IntRange(240, 270), rapid.IntRange(0, 5000),
		rapid.IntRange(inlineMax-20, inlineMax+20), rapid.IntRange(inlineMax/2-20, 3*inlineMax), rapid.IntRange(500<<10, 600<<10),
	)
}

func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 4).Draw(t, "isInt") == 0 {
			return rapid.SampledFrom([]string{"0", "-1", "7", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
				"-0", "01", "", "-", "+1", " 1", "18446744073709551616", "18446744073709551615", "99999999999999999999"}).Draw(t, "int")
		}
		n := lengths().Draw(t, "length")
		return string(bytes.Repeat([]byte{rapid.Byte().Draw(t, "fill")}, n))
	})
}

func expiries() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 1000))
}

// actions are what the machine can do.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"set":       m.doSet,
		"setMany":   m.doSetMany,
		"put":       m.doPut,
		"root":      m.doRoot,
		"writable":  m.doWritable,
		"alias":     m.doAlias,
		"number":    m.doNumber,
		"delete":    m.doDelete,
		"thin":      m.doThin,
		"expire":    m.doExpire,
		"expireDue": m.doExpireDue,
		"rename":    m.doRename,
		"flush":     m.doFlush,
		"swap":      m.doSwap,
		"take":      m.doTakeStaged,
		"drop":      m.doDropStaged,
		"freeSome":  func(t *rapid.T) { m.p.FreeSome(rapid.IntRange(1, 200).Draw(t, "budget")) },
		"clock":     m.doClock,
		"begin":     m.begin,
		"visit":     m.visit,
		"unpin":     m.doUnpin,
		"await":     m.doAwait,
		"visitMore": m.visit,
		"scan":      m.step,
		"scanMore":  m.step,
		"random":    m.doRandom,
		"":          func(*rapid.T) { m.verify() },
	}
}

func (m *machine) draw(t *rapid.T) (db int, name string) {
	db = rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, testDBs, testDBs + 1}).Draw(t, "db")
	if rapid.Bool().Draw(t, "known") {
		known := slices.SortedFunc(maps.Keys(m.model), func(a, b id) int {
			if a.db != b.db {
				return a.db - b.db
			}
			return bytes.Compare([]byte(a.name), []byte(b.name))
		})
		if len(known) > 0 {
			k := rapid.SampledFrom(known).Draw(t, "key")
			return k.db, k.name
		}
	}
	return db, names().Draw(t, "name")
}

func (m *machine) doSet(t *rapid.T) {
	db, name := m.draw(t)
	val, at := texts().Draw(t, "val"), expiries().Draw(t, "at")
	m.set(db, name, m.expected(val, at), m.p.SetString(db, m.key(name), []byte(val), at))
}

func (m *machine) doSetMany(t *rapid.T) {
	db, _ := m.draw(t)
	base, n, at := names().Draw(t, "base"), rapid.IntRange(1, 200).Draw(t, "n"), expiries().Draw(t, "at")
	for i := range n {
		name := base + strconv.Itoa(i)
		m.set(db, name, m.expected(name, at), m.p.SetString(db, m.key(name), []byte(name), at))
	}
}

func (m *machine) doPut(t *rapid.T) {
	db, name := m.draw(t)
	val, at := texts().Draw(t, "val"), expiries().Draw(t, "at")
	m.set(db, name, entry{t: TypeHash, e: EncListpack, val: val, expireAt: at},
		m.p.PutInline(db, m.key(name), TypeHash, EncListpack, []byte(val), at))
}

func (m *machine) doRoot(t *rapid.T) {
	db, name := m.draw(t)
	at, length := expiries().Draw(t, "at"), rapid.Uint64().Draw(t, "length")
	ref, number := m.newRoot()
	replaced := m.p.PutRoot(db, m.key(name), TypeZSet, EncSkiplist, ref, length, at)
	m.set(db, name, entry{t: TypeZSet, e: EncSkiplist, val: strconv.FormatUint(number, 10), length: length, expireAt: at}, replaced)
}

func (m *machine) doWritable(t *rapid.T) {
	db, name := m.draw(t)
	old, ok := m.model[id{db, name}]
	if old.e == EncSkiplist {
		return
	}
	n := lengths().Draw(t, "to")
	if rapid.IntRange(0, 9).Draw(t, "huge") == 0 {
		n = rapid.IntRange(400<<10, 2<<20).Draw(t, "huge")
	}
	if rapid.Bool().Draw(t, "append") {
		n = len(old.val) + rapid.IntRange(0, 40).Draw(t, "more")
	}
	got := m.p.Writable(db, m.key(name), n, rapid.Bool().Draw(t, "spare"))
	if !ok {
		if got != nil {
			m.fail("a key that is not there is writable")
		}
		return
	}
	want := make([]byte, n)
	copy(want, old.val)
	if !bytes.Equal(got, want) {
		m.fail("%d/%q: resized from %d to %d bytes, %d came, or other ones", db, name, len(old.val), n, len(got))
	}
	if n > 0 {
		got[n-1], want[n-1] = 'x', 'x'
	}
	old.val = string(want)
	if old.t == TypeString {
		old.e = EncRaw
	}
	m.model[id{db, name}] = old
}

// doAlias sets a key to a part of its own, or another key's, value as it lies in the arena.
func (m *machine) doAlias(t *rapid.T) {
	db, name := m.draw(t)
	_, from := m.draw(t)
	at := expiries().Draw(t, "at")
	if rapid.Bool().Draw(t, "self") {
		from = name
	}
	rec, ok := m.p.Find(db, m.key(from))
	if !ok || rec.IsRoot() {
		return
	}
	val := rec.Value()
	val = val[rapid.IntRange(0, len(val)).Draw(t, "cut"):]
	want := m.expected(string(val), at)
	m.set(db, name, want, m.p.SetString(db, m.key(name), val, at))
}

func (m *machine) doNumber(t *rapid.T) {
	db, name := m.draw(t)
	rec, ok := m.p.FindForWrite(db, m.key(name))
	if !ok {
		return
	}
	e := m.model[id{db, name}]
	switch e.e {
	case EncInt:
		n := rapid.Int64().Draw(t, "n")
		rec.SetInt(n)
		e.val = strconv.FormatInt(n, 10)
	case EncSkiplist:
		root, _ := rec.Root()
		e.length = rapid.Uint64().Draw(t, "length")
		rec.SetRoot(root, e.length)
	}
	m.model[id{db, name}] = e
}

func (m *machine) doDelete(t *rapid.T) {
	db, name := m.draw(t)
	_, had := m.model[id{db, name}]
	if m.p.Delete(db, m.key(name)) != had {
		m.fail("%d/%q: delete says %v", db, name, !had)
	}
	m.forget(db, name)
}

// doThin deletes most of the keys of a slot, so that tables shrink.
func (m *machine) doThin(t *rapid.T) {
	db, some := m.draw(t)
	share := rapid.IntRange(1, 8).Draw(t, "share")
	for _, k := range slices.SortedFunc(maps.Keys(m.model), func(a, b id) int { return bytes.Compare([]byte(a.name), []byte(b.name)) }) {
		if k.db == db && k.name[0] == some[0] && int(mixName(k.name)>>20)%8 < share {
			m.p.Delete(db, m.key(k.name))
			m.forget(db, k.name)
		}
	}
}

func (m *machine) doExpire(t *rapid.T) {
	db, name := m.draw(t)
	e, had := m.model[id{db, name}]
	at := expiries().Draw(t, "at")
	if at == 0 {
		if m.p.Persist(db, m.key(name)) != (had && e.expireAt != 0) {
			m.fail("%d/%q: persist is wrong", db, name)
		}
	} else if m.p.SetExpire(db, m.key(name), at) != had {
		m.fail("%d/%q: expire says %v", db, name, !had)
	}
	if had {
		e.expireAt = at
		m.model[id{db, name}] = e
	}
}

func (m *machine) doExpireDue(t *rapid.T) {
	now, budget := rapid.Int64Range(0, 300).Draw(t, "now"), rapid.IntRange(1, 100).Draw(t, "budget")
	for range rapid.IntRange(1, 20).Draw(t, "rounds") {
		n := 0
		removed, more := m.p.ExpireDue(now, budget, func(db int, r Rec) {
			k := id{db, string(r.Key())}
			if e, ok := m.model[k]; !ok || e.expireAt == 0 || e.expireAt > now || db >= testDBs {
				m.fail("%v expires at %d, but is %v", k, now, e)
			}
			m.forget(db, k.name)
			n++
		})
		if n != removed || n > budget {
			m.fail("%d keys of a budget of %d are removed, %d were shown", removed, budget, n)
		}
		if more {
			continue
		}
		for k, e := range m.model {
			if k.db < testDBs && e.expireAt != 0 && e.expireAt <= now {
				m.fail("%v is due and still there", k)
			}
		}
		break
	}
}

func (m *machine) doRename(t *rapid.T) {
	db, from := m.draw(t)
	toDB, to := m.draw(t)
	e, had := m.model[id{db, from}]
	if m.p.Move(db, m.key(from), toDB, m.key(to)) != had {
		m.fail("%d/%q: rename says %v", db, from, !had)
	}
	if had && (from != to || db != toDB) {
		m.forget(db, from)
		m.model[id{toDB, to}] = e
	}
}

func (m *machine) doFlush(t *rapid.T) {
	db, name := m.draw(t)
	wholeDB, now := rapid.Bool().Draw(t, "wholeDB"), rapid.Bool().Draw(t, "now")
	s := m.key(name).Slot
	switch {
	case wholeDB && now:
		m.p.FlushDB(db)
	case wholeDB:
		m.p.DetachDB(db)
	case now:
		m.p.FlushSlot(db, s)
	default:
		m.p.DetachSlot(db, s)
	}
	m.gone(db, func(name string) bool { return wholeDB || m.key(name).Slot == s })
	if !wholeDB && m.p.Count(db, s) != 0 {
		m.fail("a flushed slot has %d keys", m.p.Count(db, s))
	}
}

func (m *machine) doSwap(t *rapid.T) {
	a, b := rapid.IntRange(0, testDBs-1).Draw(t, "a"), rapid.IntRange(0, testDBs-1).Draw(t, "b")
	m.p.SwapDB(a, b)
	swapped := make(map[id]entry, len(m.model))
	for k, e := range m.model {
		switch k.db {
		case a:
			k.db = b
		case b:
			k.db = a
		}
		swapped[k] = e
	}
	m.model = swapped
	if m.scan != nil && a != b && (m.scan.db == a || m.scan.db == b) {
		m.scan = nil // a scan does not follow its database
	}
}

// doTakeStaged puts the staged databases in the place of the others.
func (m *machine) doTakeStaged(*rapid.T) {
	m.p.TakeStaged()
	taken := make(map[id]entry, len(m.model))
	for k, e := range m.model {
		if k.db >= testDBs {
			k.db -= testDBs
			taken[k] = e
		}
	}
	m.model, m.scan = taken, nil
}

func (m *machine) doDropStaged(*rapid.T) {
	m.p.DropStaged()
	for db := range testDBs {
		m.gone(m.p.Staged(db), func(string) bool { return true })
	}
}

func (m *machine) doClock(t *rapid.T) {
	m.p.SetClock(rapid.Uint32Range(0, clockMask).Draw(t, "clock"), rapid.Bool().Draw(t, "keep"))
	db, name := m.draw(t)
	if rec, ok := m.p.Find(db, m.key(name)); ok && m.cuts == [Lanes]*cut{} {
		rec.SetClock(m.p.clock)
		e := m.model[id{db, name}]
		e.clock = m.p.clock
		m.model[id{db, name}] = e
	}
}

func (m *machine) doRandom(t *rapid.T) {
	db, rnd := rapid.IntRange(0, testDBs-1).Draw(t, "db"), rapid.Uint64().Draw(t, "rnd")
	rec, ok := m.p.RandomKey(db, rnd)
	if ok != (m.p.Len(db) > 0) {
		m.fail("a random key of %d: %v", m.p.Len(db), ok)
	}
	if ok {
		if _, known := m.model[id{db, string(rec.Key())}]; !known {
			m.fail("the random key %q is not there", rec.Key())
		}
	}
	volatileOnly := rapid.Bool().Draw(t, "volatileOnly")
	shown := 0
	n := m.p.Sample(db, rnd, 5, volatileOnly, func(r Rec) {
		e, known := m.model[id{db, string(r.Key())}]
		if !known || volatileOnly && e.expireAt == 0 {
			m.fail("%q is no candidate", r.Key())
		}
		shown++
	})
	have := m.p.Len(db)
	if volatileOnly {
		have = m.p.Expires(db)
	}
	if n != shown || n > 5 || n == 0 && have > 0 {
		m.fail("%d candidates of %d keys, %d were shown", n, have, shown)
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t.Fatalf)
		switch rapid.IntRange(0, 3).Draw(t, "hash") {
		case 0: // all tags of few values
			m.hash = func(name string) uint64 { return mixName(name) >> 60 << 55 }
		case 1: // all tags at the end
			m.hash = func(name string) uint64 { return mixName(name) | 0xfff<<52 }
		}
		m.p.wordsMax = rapid.SampledFrom([]int{16, 64, wordsMax}).Draw(t, "wordsMax")
		for range 3 { // rapid makes each row of actions some 30 long
			t.Repeat(m.actions())
		}
		m.close()
	})
}
