package command

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the commands that read and change single members of sorted sets.

func zsetHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"zadd":             {Run: func(c *engine.Ctx) { addScores(c, 0) }},
		"zincrby":          {Run: func(c *engine.Ctx) { addScores(c, object.AddIncr) }},
		"zrem":             {Run: cmdZRem},
		"zcard":            {Run: cmdZCard},
		"zscore":           {Run: cmdZScore},
		"zmscore":          {Run: cmdZMScore},
		"zrank":            {Run: func(c *engine.Ctx) { replyRank(c, false) }},
		"zrevrank":         {Run: func(c *engine.Ctx) { replyRank(c, true) }},
		"zrange":           {Run: func(c *engine.Ctx) { cmdZRange(c, zrangeForm{}) }},
		"zrevrange":        {Run: func(c *engine.Ctx) { cmdZRange(c, zrangeForm{by: byRank, reverse: true}) }},
		"zrangebyscore":    {Run: func(c *engine.Ctx) { cmdZRange(c, zrangeForm{by: byScore}) }},
		"zrevrangebyscore": {Run: func(c *engine.Ctx) { cmdZRange(c, zrangeForm{by: byScore, reverse: true}) }},
		"zrangebylex":      {Run: func(c *engine.Ctx) { cmdZRange(c, zrangeForm{by: byLex}) }},
		"zrevrangebylex":   {Run: func(c *engine.Ctx) { cmdZRange(c, zrangeForm{by: byLex, reverse: true}) }},
		"zrangestore":      {Run: cmdZRangeStore},
		"zcount":           {Run: func(c *engine.Ctx) { countRange(c, byScore) }},
		"zlexcount":        {Run: func(c *engine.Ctx) { countRange(c, byLex) }},
		"zremrangebyrank":  {Run: func(c *engine.Ctx) { removeRange(c, byRank, "zremrangebyrank") }},
		"zremrangebyscore": {Run: func(c *engine.Ctx) { removeRange(c, byScore, "zremrangebyscore") }},
		"zremrangebylex":   {Run: func(c *engine.Ctx) { removeRange(c, byLex, "zremrangebylex") }},
		"zunion":           {Run: func(c *engine.Ctx) { combine(c, zunion, false) }},
		"zinter":           {Run: func(c *engine.Ctx) { combine(c, zinter, false) }},
		"zdiff":            {Run: func(c *engine.Ctx) { combine(c, zdiff, false) }},
		"zunionstore":      {Run: func(c *engine.Ctx) { combine(c, zunion, true) }},
		"zinterstore":      {Run: func(c *engine.Ctx) { combine(c, zinter, true) }},
		"zdiffstore":       {Run: func(c *engine.Ctx) { combine(c, zdiff, true) }},
		"zintercard":       {Run: func(c *engine.Ctx) { combine(c, zintercard, false) }},
		"zpopmin":          {Run: func(c *engine.Ctx) { cmdZPop(c, lowest) }, Count: 2},
		"zpopmax":          {Run: func(c *engine.Ctx) { cmdZPop(c, highest) }, Count: 2},
		"zmpop":            {Run: func(c *engine.Ctx) { cmdZMPop(c, 1) }},
		"bzpopmin":         {Run: func(c *engine.Ctx) { cmdBZPop(c, lowest) }},
		"bzpopmax":         {Run: func(c *engine.Ctx) { cmdBZPop(c, highest) }},
		"bzmpop":           {Run: func(c *engine.Ctx) { cmdZMPop(c, 2) }},
		"zrandmember":      {Run: cmdZRandMember},
		"zscan":            {Run: cmdZScan},
	}
}

const (
	errNXAndXX    = "ERR XX and NX options at the same time are not compatible"
	errGTLTNX     = "ERR GT, LT, and/or NX options at the same time are not compatible"
	errIncrPairs  = "ERR INCR option supports a single increment-element pair"
	errScoreNaN   = "ERR resulting score is not a number (NaN)"
	errRangeFloat = "ERR min or max is not a float"
	errRangeLex   = "ERR min or max not valid string range item"
)

// readZSet is the i-th key as a sorted set for reading, an empty one when it is missing. ok is false when the error has been
// replied.
func readZSet(c *engine.Ctx, i int, z *object.ZSet) (exists, ok bool) {
	rec, exists, ok := c.ReadType(i, keyspace.TypeZSet)
	if exists && ok {
		z.Open(c.Part(i), rec)
	}
	return exists, ok
}

// editZSet begins to change the sorted set of the i-th key, which exists. e is a zero one.
func editZSet(c *engine.Ctx, i int, e *object.ZSetEdit) {
	e.Edit(c.Place(i), limitsOf(c), c.W.Scratch())
}

// endZSet commits a change of the i-th key, of which changes have been made, and tells of it.
func endZSet(c *engine.Ctx, i int, e *object.ZSetEdit, changes int, event string) {
	left := e.Commit()
	c.W.SetScratch(e.Scratch())
	changedElements(c, i, config.EventZSet, event, changes, left)
}

// openScored opens the reply of n members, with their scores or without; in RESP3 a member with its score is an array.
func openScored(c *engine.Ctx, n int, withScores bool) {
	if withScores && c.Proto() == resp.RESP2 {
		n *= 2
	}
	c.Array(n)
}

// replyScored replies a member, and its score if that is wanted.
func replyScored(c *engine.Ctx, m object.Member, score float64, withScores bool) {
	if withScores && c.Proto() == resp.RESP3 {
		c.Array(2)
	}
	replyMember(c, m)
	if withScores {
		c.Double(score)
	}
}

// zaddOptions are the words between key and pairs.
type zaddOptions struct {
	mode object.AddMode
	ch   bool
	at   int // the first pair
}

// parseZAdd reads the options; false when the error has been replied.
func parseZAdd(c *engine.Ctx, mode object.AddMode) (o zaddOptions, ok bool) {
	o = zaddOptions{mode: mode, at: 2}
	for ; o.at < len(c.Args); o.at++ {
		switch {
		case c.ArgIs(o.at, "NX"):
			o.mode |= object.AddNX
		case c.ArgIs(o.at, "XX"):
			o.mode |= object.AddXX
		case c.ArgIs(o.at, "GT"):
			o.mode |= object.AddGT
		case c.ArgIs(o.at, "LT"):
			o.mode |= object.AddLT
		case c.ArgIs(o.at, "INCR"):
			o.mode |= object.AddIncr
		case c.ArgIs(o.at, "CH"):
			o.ch = true
		default:
			return o, checkZAdd(c, o)
		}
	}
	return o, checkZAdd(c, o)
}

func checkZAdd(c *engine.Ctx, o zaddOptions) bool {
	has := func(m object.AddMode) bool { return o.mode&m == m }
	words := len(c.Args) - o.at
	text := ""
	switch {
	case words == 0 || words%2 != 0:
		text = engine.ErrSyntax
	case has(object.AddNX | object.AddXX):
		text = errNXAndXX
	case has(object.AddGT | object.AddNX), has(object.AddLT | object.AddNX), has(object.AddGT | object.AddLT):
		text = errGTLTNX
	case has(object.AddIncr) && words > 2:
		text = errIncrPairs
	default:
		return true
	}
	c.Err(text)
	return false
}

// scoresAtOnce is the number of scores that are read without asking for memory.
const scoresAtOnce = 8

// addScores is ZADD and ZINCRBY. All scores are read before anything is changed.
func addScores(c *engine.Ctx, mode object.AddMode) {
	o, ok := parseZAdd(c, mode)
	if !ok {
		return
	}
	var few [scoresAtOnce]float64
	scores := few[:0]
	for i := o.at; i < len(c.Args); i += 2 {
		score, ok := num.ParseFloat(c.Args[i])
		if !ok {
			c.Err(engine.ErrNotFloat)
			return
		}
		scores = append(scores, score)
	}
	_, exists, ok := c.WriteType(0, keyspace.TypeZSet)
	if !ok {
		return
	}
	var t addTally
	if exists || o.mode&object.AddXX == 0 {
		t = addPairs(c, o, memberList{c.Args[o.at+1:], 2}, scores, exists)
	}
	t.reply(c, o)
}

// addTally is what became of the pairs.
type addTally struct {
	added, updated int
	last           object.Added // of the last pair
	score          float64      // that its member has now
}

// memberList is members among other arguments: the first one, and every step-th from there.
type memberList struct {
	args [][]byte
	step int
}

func (l memberList) at(i int) []byte { return l.args[i*l.step] }

func addPairs(c *engine.Ctx, o zaddOptions, members memberList, scores []float64, exists bool) (t addTally) {
	var e object.ZSetEdit
	if exists {
		editZSet(c, 0, &e)
		e.Expect(len(scores))
	} else {
		e = object.NewZSet(c.Place(0), limitsOf(c), c.W.Scratch(), len(scores), len(members.at(0)))
	}
	for i, score := range scores {
		t.score, t.last = e.Add(members.at(i), score, o.mode)
		switch t.last {
		case object.AddedNew:
			t.added++
		case object.AddedUpdate:
			t.updated++
		}
	}
	event := "zadd"
	if o.mode&object.AddIncr != 0 {
		event = "zincr"
	}
	endZSet(c, 0, &e, t.added+t.updated, event)
	return t
}

func (t *addTally) reply(c *engine.Ctx, o zaddOptions) {
	switch {
	case t.last == object.AddedNaN:
		c.Err(errScoreNaN)
	case o.mode&object.AddIncr != 0 && t.last == object.AddedNothing:
		c.Null()
	case o.mode&object.AddIncr != 0:
		c.Double(t.score)
	case o.ch:
		c.ReplyInt(int64(t.added + t.updated))
	default:
		c.ReplyInt(int64(t.added))
	}
}

func cmdZRem(c *engine.Ctx) {
	_, exists, ok := c.WriteType(0, keyspace.TypeZSet)
	if !ok {
		return
	}
	removed := 0
	if exists {
		var e object.ZSetEdit
		editZSet(c, 0, &e)
		for _, member := range c.Args[2:] {
			if e.Remove(member) {
				removed++
			}
		}
		endZSet(c, 0, &e, removed, "zrem")
	}
	c.ReplyInt(int64(removed))
}

func cmdZCard(c *engine.Ctx) {
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); ok {
		c.ReplyInt(int64(z.Len()))
	}
}

func cmdZScore(c *engine.Ctx) {
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); ok {
		replyScoreOf(c, &z, c.Args[2])
	}
}

func cmdZMScore(c *engine.Ctx) {
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); !ok {
		return
	}
	c.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		replyScoreOf(c, &z, member)
	}
}

func replyScoreOf(c *engine.Ctx, z *object.ZSet, member []byte) {
	if score, found := z.Score(member); found {
		c.Double(score)
		return
	}
	c.Null()
}

// replyRank is ZRANK and ZREVRANK.
func replyRank(c *engine.Ctx, reverse bool) {
	withScore := len(c.Args) == 4
	switch {
	case len(c.Args) > 4:
		c.ArityErr()
		return
	case withScore && !c.ArgIs(3, "WITHSCORE"):
		c.Err(engine.ErrSyntax)
		return
	}
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); !ok {
		return
	}
	rank, score, found := z.Rank(c.Args[2])
	if reverse {
		rank = z.Len() - 1 - rank
	}
	switch {
	case !found && withScore:
		c.NullArray()
	case !found:
		c.Null()
	case withScore:
		c.Array(2)
		c.ReplyInt(int64(rank))
		c.Double(score)
	default:
		c.ReplyInt(int64(rank))
	}
}
