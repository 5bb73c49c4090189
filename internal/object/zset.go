package object

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/enc/tree"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/num"
)

// This file holds what can be read of a sorted set, whatever its encoding. A rank counts from the lowest member on, from 0.

// ZSet is a sorted set as it is read. The zero value is an empty one. It lives until the part is changed.
type ZSet struct {
	part  *keyspace.Part
	arena *mem.Arena
	small []byte // nil for a big one
	big   ranked
	isBig bool
}

// OpenZSet is the sorted set of a record of the given part, which only Score and Rank need: it may be nil without them.
func OpenZSet(p *keyspace.Part, r keyspace.Rec) (z ZSet) {
	z.Open(p, r)
	return z
}

// Open makes a zero z what OpenZSet returns: one that is read often is opened in its place, as it is too large to be handed about
// in registers.
func (z *ZSet) Open(p *keyspace.Part, r keyspace.Rec) {
	z.part = p
	if r.Encoding() == keyspace.EncSkiplist {
		root, _ := r.Root()
		z.arena, z.isBig = r.Arena(), true
		z.big.open(r.Arena(), root)
	} else {
		z.small = r.Value()
	}
}

// Len is the number of members.
func (z *ZSet) Len() int {
	switch {
	case z.isBig:
		return z.big.tree.Len()
	case z.small == nil:
		return 0
	}
	return packLen(z.small)
}

// Score is the score of a member.
func (z *ZSet) Score(member []byte) (score float64, found bool) {
	if z.isBig {
		e, found := z.big.table.Find(z.part.HashMember(member), member)
		if !found {
			return 0, false
		}
		return e.Score(), true
	}
	if z.small == nil {
		return 0, false
	}
	pos := packFind(z.small, member)
	if pos == 0 {
		return 0, false
	}
	return packScore(z.small, pos), true
}

// Rank is the rank of a member with its score.
func (z *ZSet) Rank(member []byte) (rank int, score float64, found bool) {
	if z.isBig {
		if score, found = z.Score(member); !found {
			return 0, 0, false
		}
		return z.big.tree.Rank(score, member), score, true
	}
	if z.small == nil {
		return 0, 0, false
	}
	pos := packFind(z.small, member)
	if pos == 0 {
		return 0, 0, false
	}
	return packIndex(z.small, pos), packScore(z.small, pos), true
}

// RankOfScore is the number of members with a lower score; with after, or the same one.
func (z *ZSet) RankOfScore(score float64, after bool) int {
	if z.isBig {
		return z.big.tree.RankOfScore(score, after)
	}
	if z.small == nil {
		return 0
	}
	return packRank(z.small, func(pos int) bool {
		s := packScore(z.small, pos)
		return s < score || after && s == score
	})
}

// RankOfMember is the number of members that are lower as bytes; with after, or the same. It makes sense only when all
// scores are the same: where they are not, a small set is searched from the start, or back, from the end, as in Redis.
func (z *ZSet) RankOfMember(member []byte, after, back bool) int {
	if z.isBig {
		return z.big.tree.RankOfMember(member, after)
	}
	if z.small == nil {
		return 0
	}
	before := func(pos int) bool {
		order := comparePacked(z.small, pos, member)
		return order < 0 || after && order == 0
	}
	if back {
		return packRankBack(z.small, before)
	}
	return packRank(z.small, before)
}

// ZSetIter walks along the members of a sorted set. A change of the part ends its life.
type ZSetIter struct {
	small   []byte
	pos     int // of the member in small, 0 beyond the ends
	cursor  tree.Cursor
	arena   *mem.Arena // nil for a small set
	reverse bool
}

// At is a walk that begins at a rank; with reverse it goes down.
func (z *ZSet) At(rank int, reverse bool) ZSetIter {
	switch {
	case z.isBig:
		return ZSetIter{cursor: z.big.tree.At(rank), arena: z.arena, reverse: reverse}
	case z.small == nil || rank < 0:
		return ZSetIter{}
	}
	return ZSetIter{small: z.small, pos: listpack.Seek(z.small, 2*rank), reverse: reverse}
}

// Valid says whether there is a member where the walk is.
func (it *ZSetIter) Valid() bool {
	if it.arena != nil {
		return it.cursor.Valid()
	}
	return it.pos != 0
}

// Next goes on by a member.
func (it *ZSetIter) Next() {
	switch {
	case it.arena != nil && it.reverse:
		it.cursor.Prev()
	case it.arena != nil:
		it.cursor.Next()
	case it.reverse:
		it.pos = packPrev(it.small, it.pos)
	default:
		it.pos = packNext(it.small, it.pos)
	}
}

// Score is the score of the member; minus zero may be told as zero.
func (it *ZSetIter) Score() float64 {
	if it.arena != nil {
		return it.cursor.Score()
	}
	return packScore(it.small, it.pos)
}

// Get is the member, which lives until the part is changed, and its score.
func (it *ZSetIter) Get() (Member, float64) {
	if it.arena != nil {
		ref := it.cursor.Ref()
		return Member{Str: table.ScoredMember(it.arena, ref)}, table.ScoreAt(it.arena, ref)
	}
	return listpack.Get(it.small, it.pos), packScore(it.small, it.pos)
}

// Mark names the member for Marked.
func (it *ZSetIter) Mark() uint64 {
	if it.arena != nil {
		return uint64(it.cursor.Ref())
	}
	return uint64(it.pos)
}

// Marked is the member that Mark named, and its score. A change of the part ends the life of a mark.
func (z *ZSet) Marked(mark uint64) (Member, float64) {
	if z.isBig {
		ref := mem.Ref(mark)
		return Member{Str: table.ScoredMember(z.arena, ref)}, table.ScoreAt(z.arena, ref)
	}
	return listpack.Get(z.small, int(mark)), packScore(z.small, int(mark))
}

// Each calls fn for all members in order until it returns false. fn must not change the part.
func (z *ZSet) Each(fn func(m Member, score float64) bool) {
	for it := z.At(0, false); it.Valid(); it.Next() {
		if !fn(it.Get()) {
			return
		}
	}
}

// Scan calls fn for about count members from the cursor on, and returns the cursor to go on with, 0 at the end. The scores
// are text as ZSCAN of Redis has it: what a listpack holds, and otherwise all digits of the double. A small set is done at
// once. A member that is there from the first call to the last is met, whatever happens between. What fn gets lives until
// it returns.
func (z *ZSet) Scan(cursor uint64, count int, fn func(member, score []byte)) (next uint64) {
	var digits, text [scoreTextMax]byte
	if z.isBig {
		return z.big.table.Scan(cursor, count, func(e table.Entry) {
			fn(e.Member(), num.AppendFixed17(text[:0], e.Score()))
		})
	}
	if z.small == nil {
		return 0
	}
	for pos := listpack.First(z.small); pos != 0; pos = packNext(z.small, pos) {
		score := listpack.Get(z.small, listpack.Next(z.small, pos))
		fn(listpack.Get(z.small, pos).Text(digits[:0]), score.Text(text[:0]))
	}
	return 0
}
