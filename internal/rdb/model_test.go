package rdb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/rdb/packed"
)

// model is a Builder that writes every value down as text, in a form that can also be made from a server's replies.
type model struct {
	Nop
	packs     bool // take compact values as they are and read them with package packed
	version   int
	aux       map[string]string
	libraries []string
	sizes     []string          // of ResizeDB
	keys      map[string]string // "db key" -> value
	ttl       map[string]int64
	idle      map[string]int64
	freq      map[string]int
	types     map[string]Type
	modules   []string

	current string   // "db key"
	kind    string   // of the value
	items   []string // its elements
	tail    []string // what follows the elements of a stream
	pending map[StreamID]*pendingText
	order   []StreamID
}

type pendingText struct {
	at, count string
	owner     string
}

func newModel(packs bool) *model {
	return &model{packs: packs, aux: map[string]string{}, keys: map[string]string{}, ttl: map[string]int64{},
		idle: map[string]int64{}, freq: map[string]int{}, types: map[string]Type{}}
}

func (m *model) Header(v int) error { m.version = v; return nil }

func (m *model) Aux(name, value []byte) error { m.aux[string(name)] = string(value); return nil }

func (m *model) ResizeDB(keys, expires uint64) error {
	m.sizes = append(m.sizes, fmt.Sprint(keys, " ", expires))
	return nil
}

func (m *model) Function(code []byte) error {
	m.libraries = append(m.libraries, string(code))
	return nil
}

func (m *model) ModuleAux(id ModuleID, when uint64) error {
	m.modules = append(m.modules, fmt.Sprintf("aux %s %d %d", id.Name(), id.Version(), when))
	return nil
}

func (m *model) Key(meta *Meta) error {
	m.current = fmt.Sprintf("%d %s", meta.DB, meta.Key)
	if _, there := m.keys[m.current]; there {
		return ErrDuplicate
	}
	if meta.ExpireAt != 0 {
		m.ttl[m.current] = meta.ExpireAt
	}
	if meta.Idle >= 0 {
		m.idle[m.current] = meta.Idle
	}
	if meta.Freq >= 0 {
		m.freq[m.current] = meta.Freq
	}
	m.types[m.current] = meta.Type
	return nil
}

func (m *model) begin(kind string) error {
	m.kind, m.items, m.tail = kind, nil, nil
	return nil
}

func (m *model) String(v []byte) error {
	_ = m.begin("string")
	m.items = append(m.items, string(v))
	return nil
}

func (m *model) Int(v int64) error { return m.String(strconv.AppendInt(nil, v, 10)) }

func (m *model) ListStart(uint64) error { return m.begin("list") }
func (m *model) SetStart(uint64) error  { return m.begin("set") }
func (m *model) ZSetStart(uint64) error { return m.begin("zset") }
func (m *model) HashStart(uint64) error { return m.begin("hash") }
func (m *model) StreamStart() error     { return m.begin("stream") }

func (m *model) ListElem(v []byte) error { m.items = append(m.items, string(v)); return nil }
func (m *model) SetElem(v []byte) error  { m.items = append(m.items, string(v)); return nil }

func (m *model) ZSetElem(v []byte, score float64) error {
	m.items = append(m.items, fmt.Sprintf("%s=%v", v, score))
	return nil
}

func (m *model) HashField(f, v []byte, at int64) error {
	item := fmt.Sprintf("%s=%s", f, v)
	if at != 0 {
		item += fmt.Sprint(" until ", at)
	}
	m.items = append(m.items, item)
	return nil
}

func (m *model) Packed(p Packed) (bool, error) {
	if !m.packs {
		return false, nil
	}
	if p.Kind != KindList {
		_ = m.begin(p.Kind.String())
	}
	elems := packedTexts(p)
	longest := 0
	for _, e := range elems {
		longest = max(longest, len(e))
	}
	switch p.Kind {
	case KindZSet, KindHash:
		for i := 0; i+1 < len(elems); i += 2 {
			second := elems[i+1]
			if f, err := strconv.ParseFloat(second, 64); err == nil && p.Kind == KindZSet {
				second = fmt.Sprint(f)
			}
			m.items = append(m.items, elems[i]+"="+second)
		}
		elems = elems[:len(elems)/2]
	default:
		m.items = append(m.items, elems...)
	}
	if p.Count != len(elems) || p.Longest != longest {
		return true, fmt.Errorf("%d elements up to %d bytes are said to be %d up to %d", len(elems), longest, p.Count, p.Longest)
	}
	return true, nil
}

// packedTexts reads a compact value that the decoder has checked.
func packedTexts(p Packed) (all []string) {
	if p.Form == Intset {
		s, _ := packed.OpenIntset(p.Bytes)
		for i := range s.Len() {
			all = append(all, strconv.FormatInt(s.At(i), 10))
		}
		return all
	}
	l, _ := packed.OpenListpack(p.Bytes)
	for e, ok := l.Next(); ok; e, ok = l.Next() {
		all = append(all, string(e.Text(nil)))
	}
	return all
}

func (id StreamID) text() string { return fmt.Sprintf("%d-%d", id.Ms, id.Seq) }

func (m *model) StreamNode(*StreamNode) (bool, error) { return false, nil }

func (m *model) StreamEntry(id StreamID, pairs [][]byte) error {
	m.items = append(m.items, fmt.Sprintf("%s %q", id.text(), pairs))
	return nil
}

func (m *model) StreamMeta(s StreamMeta) error {
	m.tail = append(m.tail, fmt.Sprintf("length=%d last=%s first=%s deleted=%s added=%d",
		s.Length, s.LastID.text(), s.FirstID.text(), s.MaxDeleted.text(), s.EntriesAdded))
	return nil
}

func (m *model) StreamGroup(g StreamGroup) error {
	m.endGroup()
	read := ""
	if g.EntriesRead >= 0 {
		read = fmt.Sprint(g.EntriesRead)
	}
	m.tail = append(m.tail, fmt.Sprintf("group %s last=%s read=%s", g.Name, g.LastID.text(), read))
	m.pending = map[StreamID]*pendingText{}
	return nil
}

func (m *model) StreamPending(p StreamPending) error {
	if m.pending[p.ID] != nil {
		return ErrDuplicate
	}
	m.pending[p.ID] = &pendingText{at: fmt.Sprint(p.DeliveredAt), count: fmt.Sprint(p.Deliveries)}
	m.order = append(m.order, p.ID)
	return nil
}

func (m *model) StreamConsumer(c StreamConsumer) error {
	m.tail = append(m.tail, fmt.Sprintf("consumer %s seen=%d", c.Name, c.SeenAt))
	return nil
}

func (m *model) StreamOwned(id StreamID) error {
	p := m.pending[id]
	if p == nil || p.owner != "" {
		return Damage("pending entry is not there or has an owner")
	}
	p.owner = strings.Fields(m.tail[len(m.tail)-1])[1]
	return nil
}

// endGroup writes the pending entries down, now that their owners are known.
func (m *model) endGroup() {
	for _, id := range m.order {
		p := m.pending[id]
		m.tail = append(m.tail, fmt.Sprintf("pending %s of %s at=%s count=%s", id.text(), p.owner, p.at, p.count))
	}
	m.order, m.pending = nil, nil
}

func (m *model) Module(id ModuleID) error {
	m.modules = append(m.modules, fmt.Sprintf("%s %d", id.Name(), id.Version()))
	return m.begin("module")
}

func (m *model) End() error {
	m.endGroup()
	if m.kind == "set" || m.kind == "hash" {
		slices.Sort(m.items)
	}
	if m.kind == "zset" {
		slices.Sort(m.items)
	}
	m.keys[m.current] = fmt.Sprintf("%s %q %q", m.kind, m.items, m.tail)
	return nil
}

// decode reads a file into a model.
func decode(t *testing.T, file []byte, packs bool) (*model, Summary) {
	t.Helper()
	m := newModel(packs)
	sum, err := NewDecoder(strings.NewReader(string(file)), Options{}).Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	return m, sum
}

// ask writes down, in the form of a model, what a server holds in its databases.
func ask(r *redis, databases ...int) *model {
	r.t.Helper()
	m := newModel(false)
	for _, db := range databases {
		r.do("SELECT", fmt.Sprint(db))
		for _, key := range r.do("KEYS", "*").Strings() {
			name := fmt.Sprintf("%d %s", db, key)
			m.keys[name] = askValue(r, key)
			if at := r.do("PEXPIRETIME", key); at.Int >= 0 {
				m.ttl[name] = at.Int
			}
		}
	}
	return m
}

func askValue(r *redis, key string) string {
	r.t.Helper()
	kind := r.do("TYPE", key).Text
	var items, tail []string
	switch kind {
	case "string":
		items = []string{r.do("GET", key).Text}
	case "list":
		items = r.do("LRANGE", key, "0", "-1").Strings()
	case "set":
		items = r.do("SMEMBERS", key).Strings()
		slices.Sort(items)
	case "zset", "hash":
		items = askPairs(r, kind, key)
	case "stream":
		for _, e := range r.do("XRANGE", key, "-", "+").Items {
			items = append(items, fmt.Sprintf("%s %q", e.Items[0].Text, e.Items[1].Strings()))
		}
		tail = askStream(r, key)
	}
	return fmt.Sprintf("%s %q %q", kind, items, tail)
}

func askPairs(r *redis, kind, key string) (items []string) {
	r.t.Helper()
	command := []string{"HGETALL", key}
	if kind == "zset" {
		command = []string{"ZRANGE", key, "0", "-1", "WITHSCORES"}
	}
	texts := r.do(command...).Strings()
	for i := 0; i < len(texts); i += 2 {
		second := texts[i+1]
		if kind == "zset" {
			f, _ := strconv.ParseFloat(second, 64)
			second = fmt.Sprint(f)
		}
		items = append(items, texts[i]+"="+second)
	}
	slices.Sort(items)
	return items
}

// askStream reads XINFO STREAM FULL of Redis 7.0.
func askStream(r *redis, key string) []string {
	r.t.Helper()
	info := r.do("XINFO", "STREAM", key, "FULL", "COUNT", "0")
	get := func(name string) string { v, _ := info.Field(name); return v.Plain() }
	tail := []string{fmt.Sprintf("length=%s last=%s first=%s deleted=%s added=%s", get("length"), get("last-generated-id"),
		get("recorded-first-entry-id"), get("max-deleted-entry-id"), get("entries-added"))}
	groups, _ := info.Field("groups")
	for _, g := range groups.Items {
		get := func(name string) string { v, _ := g.Field(name); return v.Plain() }
		tail = append(tail, fmt.Sprintf("group %s last=%s read=%s", get("name"), get("last-delivered-id"), get("entries-read")))
		consumers, _ := g.Field("consumers")
		for _, c := range consumers.Items {
			name, _ := c.Field("name")
			seen, _ := c.Field("seen-time")
			tail = append(tail, fmt.Sprintf("consumer %s seen=%s", name.Plain(), seen.Plain()))
		}
		pending, _ := g.Field("pending")
		for _, p := range pending.Items {
			w := p.Strings()
			tail = append(tail, fmt.Sprintf("pending %s of %s at=%s count=%s", w[0], w[1], w[2], w[3]))
		}
	}
	return tail
}

// compare fails the test where two models hold different keys, values or expiries.
func compare(t *testing.T, got, want *model) {
	t.Helper()
	for key, w := range want.keys {
		if g, ok := got.keys[key]; !ok {
			t.Errorf("key %q is missing", key)
		} else if g != w {
			t.Errorf("key %q:\n got %.600s\nwant %.600s", key, g, w)
		}
		if got.ttl[key] != want.ttl[key] {
			t.Errorf("key %q expires at %d, want %d", key, got.ttl[key], want.ttl[key])
		}
	}
	for key := range got.keys {
		if _, ok := want.keys[key]; !ok {
			t.Errorf("key %q is too much", key)
		}
	}
}

// text lists what a model holds, a line each.
func (m *model) text(sum Summary) string {
	var lines []string
	for key, value := range m.keys {
		line := fmt.Sprintf("%q (type %d) = %s", key, m.types[key], value)
		if at := m.ttl[key]; at != 0 {
			line += fmt.Sprint(" until ", at)
		}
		if idle, told := m.idle[key]; told {
			line += fmt.Sprint(" idle ", idle)
		}
		if freq, told := m.freq[key]; told {
			line += fmt.Sprint(" used ", freq)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, code := range m.libraries {
		lines = append(lines, fmt.Sprintf("library %q", code))
	}
	for _, module := range m.modules {
		lines = append(lines, "module "+module)
	}
	lines = append(lines, fmt.Sprintf("version %d, %d keys, %d expire, %d empty, checksum %d", sum.Version, sum.Keys, sum.Expires, sum.Empty, sum.Checksum))
	return strings.Join(lines, "\n") + "\n"
}
