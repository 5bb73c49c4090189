package command

import (
	"bytes"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the commands on ranges of sorted sets. Whatever a range is given by, it is turned into ranks.

// zrangeBy is what a range is given by.
type zrangeBy uint8

const (
	byAny zrangeBy = iota // the options tell; ranks when they do not
	byRank
	byScore
	byLex
)

// zrangeForm is what the name of a command says of its range.
type zrangeForm struct {
	by      zrangeBy
	reverse bool
}

// zrange is a range.
type zrange struct {
	by          zrangeBy
	start, stop int64 // ranks, from the end when negative
	min, max    scoreBound
	low, high   lexBound
}

// scoreBound is an end of a range of scores.
type scoreBound struct {
	score float64
	open  bool // the score itself does not belong to the range
}

// lexBound is an end of a range of members.
type lexBound struct {
	member []byte
	end    int8 // -1: before all members, 1: behind all
	open   bool
}

func parseScoreBound(b []byte) (s scoreBound, ok bool) {
	if len(b) > 0 && b[0] == '(' {
		s.open = true
		b = b[1:]
	}
	s.score, ok = num.ParseBound(b)
	return s, ok
}

func parseLexBound(b []byte) (l lexBound, ok bool) {
	if len(b) == 0 {
		return l, false
	}
	alone := len(b) == 1 || b[1] == 0
	switch b[0] {
	case '-':
		l.end = -1
		return l, alone
	case '+':
		l.end = 1
		return l, alone
	case '(', '[':
		l.open = b[0] == '('
		l.member = b[1:]
		return l, true
	}
	return l, false
}

// parseRange reads the two ends of a range in arguments from and to; false when the error has been replied.
func parseRange(c *engine.Ctx, by zrangeBy, from, to int) (r zrange, ok bool) {
	r.by = by
	var both bool
	switch by {
	case byScore:
		r.min, ok = parseScoreBound(c.Args[from])
		r.max, both = parseScoreBound(c.Args[to])
		if !ok || !both {
			c.Err(errRangeFloat)
			return r, false
		}
	case byLex:
		r.low, ok = parseLexBound(c.Args[from])
		r.high, both = parseLexBound(c.Args[to])
		if !ok || !both {
			c.Err(errRangeLex)
			return r, false
		}
	default:
		if r.start, ok = c.Int(from); !ok {
			return r, false
		}
		if r.stop, ok = c.Int(to); !ok {
			return r, false
		}
	}
	return r, true
}

// rank is the number of members before the end, counted from the start of the set or back, from its end; after says whether
// those that it names count.
func (l *lexBound) rank(z *object.ZSet, after, back bool) int {
	switch {
	case l.end < 0:
		return 0
	case l.end > 0:
		return z.Len()
	}
	return z.RankOfMember(l.member, after, back)
}

// admits says whether a member is on the right side of the end: above it, or below it when it is the high end.
func (l *lexBound) admits(m object.Member, high bool) bool {
	var digits [20]byte
	switch order := bytes.Compare(m.Text(digits[:0]), l.member); {
	case l.end != 0:
		return (l.end > 0) == high
	case order == 0:
		return !l.open
	default:
		return (order < 0) == high
	}
}

// meets says whether the last member is not below the range of members, nor the first above it. When scores differ members
// between them may belong to a range that does not meet the set so; it is empty nevertheless, as in Redis.
func (r *zrange) meets(z *object.ZSet) bool {
	if z.Len() == 0 {
		return false
	}
	last, first := z.At(z.Len()-1, true), z.At(0, false)
	lowest, _ := first.Get()
	if !r.high.admits(lowest, true) {
		return false
	}
	highest, _ := last.Get()
	return r.low.admits(highest, false)
}

// ranks are the ranks of the range from low to high, without high. Ranks as such count from the other end in reverse.
func (r *zrange) ranks(z *object.ZSet, reverse bool) (low, high int) {
	switch r.by {
	case byScore:
		low, high = z.RankOfScore(r.min.score, r.min.open), z.RankOfScore(r.max.score, !r.max.open)
	case byLex:
		if !r.meets(z) {
			return 0, 0
		}
		low, high = r.low.rank(z, r.low.open, reverse), r.high.rank(z, !r.high.open, reverse)
	default:
		n := int64(z.Len())
		start, stop := r.start, r.stop
		if start < 0 {
			start = max(start+n, 0)
		}
		if stop < 0 {
			stop += n
		}
		if start > stop || start >= n {
			return 0, 0
		}
		low, high = int(start), int(min(stop, n-1))+1
		if reverse {
			low, high = int(n)-high, int(n)-low
		}
	}
	return low, max(low, high)
}

// zrangeCommand is ZRANGE, ZRANGESTORE or one of their older forms with all its arguments.
type zrangeCommand struct {
	zrange
	reverse       bool
	withScores    bool
	offset, limit int64 // no limit when negative
}

// parseZRange reads the arguments from the position of the key on; false when the error has been replied.
func parseZRange(c *engine.Ctx, form zrangeForm, at int, store bool) (q zrangeCommand, ok bool) {
	q = zrangeCommand{reverse: form.reverse, limit: -1}
	by := form.by
	for i := at + 3; i < len(c.Args); i++ {
		switch {
		case !store && c.ArgIs(i, "WITHSCORES"):
			q.withScores = true
		case c.ArgIs(i, "LIMIT") && i+2 < len(c.Args):
			if q.offset, ok = c.Int(i + 1); !ok {
				return q, false
			}
			if q.limit, ok = c.Int(i + 2); !ok {
				return q, false
			}
			i += 2
		case form.by == byAny && !q.reverse && c.ArgIs(i, "REV"):
			q.reverse = true
		case by == byAny && c.ArgIs(i, "BYLEX"):
			by = byLex
		case by == byAny && c.ArgIs(i, "BYSCORE"):
			by = byScore
		default:
			c.Err(engine.ErrSyntax)
			return q, false
		}
	}
	if by == byAny {
		by = byRank
	}
	switch {
	case q.limit != -1 && by == byRank:
		c.Err("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
		return q, false
	case q.withScores && by == byLex:
		c.Err("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
		return q, false
	}
	from, to := at+1, at+2
	if q.reverse && by != byRank {
		from, to = to, from
	}
	q.zrange, ok = parseRange(c, by, from, to)
	return q, ok
}

// ranks are what is left of the range with offset and limit: n members, from the rank first on.
func (q *zrangeCommand) ranks(z *object.ZSet) (first, n int) {
	low, high := q.zrange.ranks(z, q.reverse)
	skip := int64(0)
	if q.by != byRank {
		skip = q.offset
	}
	if low == high || skip < 0 || skip >= int64(z.Len()) {
		return 0, 0
	}
	first = low + int(skip)
	if q.reverse {
		first = high - 1 - int(skip)
	}
	if n = high - low - int(skip); n <= 0 {
		if n = q.beyond(z, first); n == 0 {
			return 0, 0
		}
	}
	if q.by != byRank && q.limit >= 0 {
		n = int(min(q.limit, int64(n)))
	}
	return first, n
}

// beyond is the number of members to reply from a rank on that the offset has led to beyond the range: those of a range of
// members that belong to it, as Redis does not look at what it skips. There are some only when scores differ.
func (q *zrangeCommand) beyond(z *object.ZSet, rank int) (n int) {
	if q.by != byLex || rank < 0 || rank >= z.Len() {
		return 0
	}
	end := &q.high
	if q.reverse {
		end = &q.low
	}
	for it := z.At(rank, q.reverse); it.Valid(); it.Next() {
		if m, _ := it.Get(); !end.admits(m, !q.reverse) {
			break
		}
		n++
	}
	return n
}

func cmdZRange(c *engine.Ctx, form zrangeForm) {
	q, ok := parseZRange(c, form, 1, false)
	if !ok {
		return
	}
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); !ok {
		return
	}
	first, n := q.ranks(&z)
	openScored(c, n, q.withScores)
	it := z.At(first, q.reverse)
	for n > 0 {
		some := min(n, rangeAtOnce)
		c.AppendPart(func(dst []byte, v resp.Version) []byte { return appendRange(dst, v, &it, some, q.withScores) })
		n -= some
	}
}

// rangeAtOnce is how many members are replied before the reply's buffer is looked at: some 100 KiB, most often.
const rangeAtOnce = 4096

// appendRange appends the replies of n members: what replyScored does, without asking for each whether it is big.
func appendRange(dst []byte, v resp.Version, it *object.ZSetIter, n int, withScores bool) []byte {
	nested := withScores && v == resp.RESP3
	for ; n > 0; n-- {
		m, score := it.Get()
		if nested {
			dst = resp.AppendArray(dst, 2)
		}
		if m.IsInt() {
			dst = resp.AppendBulkInt(dst, m.Int)
		} else {
			dst = resp.AppendBulk(dst, m.Str)
		}
		if withScores {
			dst = resp.AppendDouble(dst, v, score)
		}
		it.Next()
	}
	return dst
}

func cmdZRangeStore(c *engine.Ctx) {
	q, ok := parseZRange(c, zrangeForm{}, 2, true)
	if !ok {
		return
	}
	var z object.ZSet
	if _, ok := readZSet(c, 1, &z); !ok {
		return
	}
	first, n := q.ranks(&z)
	e := object.NewZSet(c.Place(0), limitsOf(c), c.W.Scratch(), n, 0)
	var digits [20]byte
	for it := z.At(first, q.reverse); n > 0; it.Next() {
		m, score := it.Get()
		e.Add(m.Text(digits[:0]), score, 0)
		n--
	}
	storeZSet(c, 0, &e, "zrangestore")
}

// storeZSet sets the i-th key to a sorted set that was made for it, and replies the number of members; an empty one removes
// the key.
func storeZSet(c *engine.Ctx, i int, e *object.ZSetEdit, event string) {
	n := e.Len()
	if n == 0 {
		e.Discard()
		c.W.SetScratch(e.Scratch())
		if c.Delete(i) {
			c.Notify(config.EventGeneric, "del", i)
		}
		c.ReplyInt(0)
		return
	}
	c.Overwrites(i)
	e.PutAt(c.Place(i), 0)
	c.W.SetScratch(e.Scratch())
	c.Changed(i)
	c.Notify(config.EventZSet, event, i)
	c.ReplyInt(int64(n))
}

// countRange is ZCOUNT and ZLEXCOUNT.
func countRange(c *engine.Ctx, by zrangeBy) {
	r, ok := parseRange(c, by, 2, 3)
	if !ok {
		return
	}
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); ok {
		low, high := r.ranks(&z, false)
		c.ReplyInt(int64(high - low))
	}
}

// removeRange is ZREMRANGEBYRANK, ZREMRANGEBYSCORE and ZREMRANGEBYLEX.
func removeRange(c *engine.Ctx, by zrangeBy, event string) {
	r, ok := parseRange(c, by, 2, 3)
	if !ok {
		return
	}
	rec, exists, ok := c.WriteType(0, keyspace.TypeZSet)
	if !ok {
		return
	}
	low, high := 0, 0
	if exists {
		z := object.OpenZSet(c.Part(0), rec)
		low, high = r.ranks(&z, false)
	}
	if low < high {
		var e object.ZSetEdit
		editZSet(c, 0, &e)
		e.RemoveRange(low, high)
		endZSet(c, 0, &e, high-low, event)
	}
	c.ReplyInt(int64(high - low))
}
