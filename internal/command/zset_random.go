package command

import (
	"math"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds ZRANDMEMBER and ZSCAN.

func cmdZRandMember(c *engine.Ctx) {
	if len(c.Args) == 2 {
		var z object.ZSet
		exists, ok := readZSet(c, 0, &z)
		switch {
		case !ok:
		case !exists:
			c.Null()
		default:
			dice := c.W.Dice()
			it := z.At(int(dice.Below(uint64(z.Len()))), false)
			m, _ := it.Get()
			replyMember(c, m)
		}
		return
	}
	count, ok := numberWithin(c, 2, -math.MaxInt64, math.MaxInt64,
		"ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
	if !ok {
		return
	}
	withScores := len(c.Args) == 4
	switch {
	case len(c.Args) > 4, withScores && !c.ArgIs(3, "WITHSCORES"):
		c.Err(engine.ErrSyntax)
		return
	case withScores && (count < -math.MaxInt64/2 || count > math.MaxInt64/2):
		c.Err("ERR value is out of range")
		return
	}
	var z object.ZSet
	exists, ok := readZSet(c, 0, &z)
	switch {
	case !ok:
	case !exists || count == 0:
		c.Array(0)
	case count < 0:
		replyDrawn(c, &z, -count, withScores)
	case count >= int64(z.Len()):
		openScored(c, z.Len(), withScores)
		for it := z.At(z.Len()-1, true); it.Valid(); it.Next() {
			m, score := it.Get()
			replyScored(c, m, score, withScores)
		}
	default:
		replySample(c, &z, int(count), withScores)
	}
}

// replyDrawn replies count members, each drawn from all. Very many are drawn from a sample.
func replyDrawn(c *engine.Ctx, z *object.ZSet, count int64, withScores bool) {
	draw := func() (object.Member, float64) {
		it := z.At(int(c.W.Dice().Below(uint64(z.Len()))), false)
		return it.Get()
	}
	if count <= poolMax {
		openScored(c, int(count), withScores)
		for range count {
			m, score := draw()
			replyScored(c, m, score, withScores)
		}
		return
	}
	var pool names
	var scores []float64
	add := func(m object.Member, score float64) bool {
		var digits [20]byte
		pool.add(m.Text(digits[:0]))
		scores = append(scores, score)
		return true
	}
	if z.Len() <= poolMax {
		z.Each(add)
	} else {
		for range poolMax {
			add(draw())
		}
	}
	r := drawnReply{n: count, texts: pool.mean(), open: func() { openScored(c, int(count), withScores) }}
	r.one = func(c *engine.Ctx) {
		i := int(c.W.Dice().Below(uint64(len(scores))))
		replyScored(c, listpack.BytesElem(pool.at(i)), scores[i], withScores)
	}
	r.reply(c)
}

// replySample replies n different members. When they are more than one of sampleWalk, it walks along all of them and takes
// each with the chance that is left (algorithm S: D. Knuth, TAOCP 2, 3.4.2); fewer are drawn, until they are different
// (R. Floyd's algorithm, CACM 9/1987).
func replySample(c *engine.Ctx, z *object.ZSet, n int, withScores bool) {
	const sampleWalk = 8
	dice := c.W.Dice()
	openScored(c, n, withScores)
	length := z.Len()
	if n*sampleWalk > length {
		left := length
		z.Each(func(m object.Member, score float64) bool {
			if dice.Below(uint64(left)) < uint64(n) {
				replyScored(c, m, score, withScores)
				n--
			}
			left--
			return n > 0
		})
		return
	}
	taken := make(map[int]struct{}, n)
	for i := length - n; i < length; i++ {
		rank := int(dice.Below(uint64(i + 1)))
		if _, twice := taken[rank]; twice {
			rank = i
		}
		taken[rank] = struct{}{}
		it := z.At(rank, false)
		m, score := it.Get()
		replyScored(c, m, score, withScores)
	}
}

func cmdZScan(c *engine.Ctx) {
	scanElements(c, keyspace.TypeZSet, func(rec keyspace.Rec, cursor uint64, o elementScan) (next uint64, replies int) {
		z := object.OpenZSet(c.Part(0), rec)
		next = z.Scan(cursor, o.count, func(member, score []byte) {
			if o.takes(member) {
				c.Bulk(member)
				c.Bulk(score)
				replies += 2
			}
		})
		return next, replies
	})
}
