package rdb

import (
	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/rdb/packed"
)

// copier is a Builder that writes what it gets to a new file of the current version, in compact or in plain forms.
type copier struct {
	Nop
	out   []byte
	lzf   *checksum.LZF
	packs bool // keep compact values

	meta   Meta
	body   []byte // the value without its type
	counts []*section
	typ    Type
	stream streamCopy
}

// section is a run of elements whose number is only known at its end.
type section struct {
	n    uint64
	body []byte
}

// streamCopy gathers the parts of a stream, whose counts come before them.
type streamCopy struct {
	nodes, groups    section
	meta             []byte
	group            []byte // head of the group being read
	pending          section
	consumers        section
	consumer         []byte // head of the consumer being read
	owned            section
	inGroup, inOwned bool
}

func newCopier(packs, compress bool) *copier {
	c := &copier{packs: packs}
	if compress {
		c.lzf = new(checksum.LZF)
	}
	return c
}

func (s *section) flush(dst []byte) []byte {
	dst = append(AppendLen(dst, s.n), s.body...)
	*s = section{}
	return dst
}

func (c *copier) Header(int) error {
	c.out = AppendHeader(c.out, Header{CreatedAt: 1700000000, UsedMem: 1 << 20,
		Stream: &ReplayPoint{DB: 0, ID: "0123456789abcdef0123456789abcdef01234567", Offset: 1 << 33}})
	return nil
}

func (c *copier) SelectDB(db int) error { c.out = AppendSelectDB(c.out, db); return nil }

func (c *copier) ResizeDB(keys, expires uint64) error {
	c.out = AppendResizeDB(c.out, keys, expires)
	return nil
}

func (c *copier) Function(code []byte) error { c.out = AppendFunction(c.out, code, c.lzf); return nil }

func (c *copier) Key(m *Meta) error {
	c.meta, c.body, c.counts = *m, nil, nil
	return nil
}

func (c *copier) begin(t Type) error {
	c.typ = t
	c.counts = []*section{{}}
	c.stream = streamCopy{}
	return nil
}

func (c *copier) add(elems ...[]byte) error {
	s := c.counts[0]
	s.n++
	for _, e := range elems {
		s.body = AppendString(s.body, e, c.lzf)
	}
	return nil
}

func (c *copier) String(v []byte) error {
	_ = c.begin(TypeString)
	c.body, c.counts = AppendString(nil, v, c.lzf), nil
	return nil
}

func (c *copier) Int(v int64) error {
	_ = c.begin(TypeString)
	c.body, c.counts = AppendInt(nil, v), nil
	return nil
}

func (c *copier) ListStart(uint64) error {
	if c.packs {
		return c.begin(TypeListListpacks)
	}
	return c.begin(TypeList)
}

func (c *copier) ListElem(v []byte) error {
	if c.typ == TypeListListpacks { // a plain node, which may not be empty
		s := c.counts[0]
		s.n++
		if len(v) == 0 {
			lp := packed.AppendListpackString(packed.AppendListpackHead(nil), v)
			s.body = AppendString(AppendLen(s.body, nodePacked), packed.FinishListpack(lp, 0, 1), c.lzf)
			return nil
		}
		s.body = AppendLen(s.body, nodePlain)
		s.body = append(AppendLen(s.body, uint64(len(v))), v...)
		return nil
	}
	return c.add(v)
}

func (c *copier) SetStart(uint64) error  { return c.begin(TypeSet) }
func (c *copier) ZSetStart(uint64) error { return c.begin(TypeZSet) }
func (c *copier) HashStart(uint64) error { return c.begin(TypeHash) }

func (c *copier) SetElem(v []byte) error { return c.add(v) }

func (c *copier) HashField(f, v []byte, _ int64) error { return c.add(f, v) }

func (c *copier) ZSetElem(m []byte, score float64) error {
	_ = c.add(m)
	c.counts[0].body = AppendDouble(c.counts[0].body, score)
	return nil
}

func (c *copier) Packed(p Packed) (bool, error) {
	types := map[Kind]Type{KindZSet: TypeZSetListpack, KindHash: TypeHashListpack}
	switch {
	case !c.packs || p.Kind == KindSet && p.Form == Listpack:
		return false, nil
	case p.Kind == KindList:
		s := c.counts[0]
		s.n++
		s.body = AppendString(AppendLen(s.body, nodePacked), p.Bytes, c.lzf)
		return true, nil
	case p.Form == Intset:
		_ = c.begin(TypeSetIntset)
	default:
		_ = c.begin(types[p.Kind])
	}
	c.body, c.counts = AppendString(nil, p.Bytes, c.lzf), nil
	return true, nil
}

func (c *copier) StreamStart() error { return c.begin(TypeStream2) }

func (c *copier) StreamNode(n *StreamNode) (bool, error) {
	if !c.packs {
		return false, nil
	}
	c.addNode(n.Master, n.Bytes)
	return true, nil
}

func (c *copier) addNode(master StreamID, listpack []byte) {
	s := &c.stream.nodes
	s.n++
	s.body = AppendString(AppendStreamMaster(s.body, master), listpack, c.lzf)
}

// StreamEntry makes a node of every entry.
func (c *copier) StreamEntry(id StreamID, pairs [][]byte) error {
	lp := packed.AppendListpackHead(nil)
	fields := int64(len(pairs) / 2)
	for _, v := range []int64{1, 0, fields} {
		lp = packed.AppendListpackInt(lp, v)
	}
	for i := 0; i < len(pairs); i += 2 {
		lp = packed.AppendListpackString(lp, pairs[i])
	}
	for _, v := range []int64{0, entrySameFields, 0, 0} {
		lp = packed.AppendListpackInt(lp, v)
	}
	for i := 1; i < len(pairs); i += 2 {
		lp = packed.AppendListpackString(lp, pairs[i])
	}
	lp = packed.AppendListpackInt(lp, fields+entryOverhead)
	c.addNode(id, packed.FinishListpack(lp, 0, int(3+fields+1+3+fields+1)))
	return nil
}

func (c *copier) StreamMeta(m StreamMeta) error {
	c.stream.meta = AppendStreamMeta(nil, m)
	return nil
}

func (c *copier) StreamGroup(g StreamGroup) error {
	c.endGroup()
	c.stream.inGroup = true
	c.stream.group = AppendStreamGroup(nil, g)
	return nil
}

func (c *copier) StreamPending(p StreamPending) error {
	c.stream.pending.n++
	c.stream.pending.body = AppendStreamPending(c.stream.pending.body, p)
	return nil
}

func (c *copier) StreamConsumer(s StreamConsumer) error {
	c.endConsumer()
	c.stream.inOwned = true
	c.stream.consumer = AppendStreamConsumer(nil, s)
	return nil
}

func (c *copier) StreamOwned(id StreamID) error {
	c.stream.owned.n++
	c.stream.owned.body = AppendStreamID(c.stream.owned.body, id)
	return nil
}

func (c *copier) endConsumer() {
	s := &c.stream
	if s.inOwned {
		s.consumers.n++
		s.consumers.body = s.owned.flush(append(s.consumers.body, s.consumer...))
	}
	s.inOwned = false
}

func (c *copier) endGroup() {
	c.endConsumer()
	s := &c.stream
	if s.inGroup {
		s.groups.n++
		s.groups.body = s.pending.flush(append(s.groups.body, s.group...))
		s.groups.body = s.consumers.flush(s.groups.body)
	}
	s.inGroup = false
}

func (c *copier) End() error {
	if c.typ == TypeStream2 {
		c.endGroup()
		c.body = append(c.stream.nodes.flush(nil), c.stream.meta...)
		c.body = c.stream.groups.flush(c.body)
	} else if c.counts != nil {
		c.body = c.counts[0].flush(nil)
	}
	if c.meta.ExpireAt != 0 {
		c.out = AppendExpireMs(c.out, c.meta.ExpireAt)
	}
	c.out = AppendString(AppendType(c.out, c.typ), c.meta.Key, c.lzf)
	c.out = append(c.out, c.body...)
	return nil
}

// finished closes the file.
func (c *copier) finished() []byte { return AppendEOF(c.out, checksum.CRC64(0, c.out)) }
