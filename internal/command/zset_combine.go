package command

import (
	"math"
	"slices"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the unions, intersections and differences of sorted sets and sets.

// combination is what a command makes of its inputs.
type combination uint8

const (
	zunion combination = iota
	zinter
	zdiff
	zintercard
)

// event is what a store of the combination is called.
func (k combination) event() string {
	return [...]string{"zunionstore", "zinterstore", "zdiffstore"}[k]
}

// weighted is an input with its weight.
type weighted struct {
	object.ZSource
	weight float64
	size   int
}

// gives is what a score counts with the weight of the input.
func (w *weighted) gives(score float64) float64 {
	product := score * w.weight
	if math.IsNaN(product) { // infinite times 0
		return 0
	}
	return product
}

// join is how two scores of a member become one.
type join func(has, gets float64) float64

func joinSum(has, gets float64) float64 {
	if sum := has + gets; !math.IsNaN(sum) {
		return sum
	}
	return 0 // infinite and minus infinite
}

func joinMin(has, gets float64) float64 {
	if gets < has {
		return gets
	}
	return has
}

func joinMax(has, gets float64) float64 {
	if gets > has {
		return gets
	}
	return has
}

// combineCommand is a command with its arguments.
type combineCommand struct {
	kind       combination
	store      bool
	inputs     []weighted // in the order of the keys
	join       join
	withScores bool
	limit      int64 // of ZINTERCARD; 0 for none
}

// combine is all of ZUNION, ZINTER, ZDIFF, their STORE forms and ZINTERCARD.
func combine(c *engine.Ctx, kind combination, store bool) {
	q := combineCommand{kind: kind, store: store, join: joinSum}
	if !q.parse(c) {
		return
	}
	if kind == zintercard {
		c.ReplyInt(q.countShared())
		return
	}
	target := 0
	if store {
		target = len(q.inputs) // it comes last among the keys
	}
	e := object.GatherZSet(c.Place(target), limitsOf(c), c.W.Scratch())
	switch kind {
	case zunion:
		q.unite(&e)
	case zinter:
		q.intersect(func(member []byte, score float64) bool {
			e.Gather(member, score, q.join)
			return true
		})
	case zdiff:
		q.subtract(&e)
	}
	e.Settle()
	if store {
		e.Compact()
		storeZSet(c, target, &e, kind.event())
		return
	}
	z := e.View()
	openScored(c, z.Len(), q.withScores)
	z.Each(func(m object.Member, score float64) bool {
		replyScored(c, m, score, q.withScores)
		return true
	})
	e.Discard()
}

// parse reads the arguments; false when the error has been replied. Wrong types are found before wrong options.
func (q *combineCommand) parse(c *engine.Ctx) bool {
	at := 1
	if q.store {
		at = 2
	}
	n, ok := c.Int(at)
	switch {
	case !ok:
		return false
	case n < 1:
		c.Err("ERR at least 1 input key is needed for '" + c.Cmd.Full + "' command")
		return false
	case n > int64(len(c.Args)-at-1):
		c.Err(engine.ErrSyntax)
		return false
	}
	q.inputs = make([]weighted, n)
	for i := range q.inputs {
		w := &q.inputs[i]
		w.weight = 1
		rec, exists := c.Find(i)
		if !exists {
			continue
		}
		if w.ZSource, ok = object.OpenZSource(c.Part(i), rec); !ok {
			c.Err(engine.ErrWrongType)
			return false
		}
		w.size = w.Len()
	}
	return q.parseOptions(c, at+1+int(n))
}

func (q *combineCommand) parseOptions(c *engine.Ctx, i int) bool {
	scored := q.kind == zunion || q.kind == zinter
	for i < len(c.Args) {
		left := len(c.Args) - i
		switch {
		case scored && left > len(q.inputs) && c.ArgIs(i, "WEIGHTS"):
			if !q.parseWeights(c, i+1) {
				return false
			}
			i += 1 + len(q.inputs)
		case scored && left >= 2 && c.ArgIs(i, "AGGREGATE"):
			if q.join = joinOf(c, i+1); q.join == nil {
				c.Err(engine.ErrSyntax)
				return false
			}
			i += 2
		case !q.store && q.kind != zintercard && c.ArgIs(i, "WITHSCORES"):
			q.withScores = true
			i++
		case q.kind == zintercard && left >= 2 && c.ArgIs(i, "LIMIT"):
			var ok bool
			if q.limit, ok = c.IntBetween(i+1, 0, math.MaxInt64, "ERR LIMIT can't be negative"); !ok {
				return false
			}
			i += 2
		default:
			c.Err(engine.ErrSyntax)
			return false
		}
	}
	return true
}

func (q *combineCommand) parseWeights(c *engine.Ctx, i int) bool {
	for k := range q.inputs {
		weight, ok := num.ParseFloat(c.Args[i+k])
		if !ok {
			c.Err("ERR weight value is not a float")
			return false
		}
		q.inputs[k].weight = weight
	}
	return true
}

func joinOf(c *engine.Ctx, i int) join {
	switch {
	case c.ArgIs(i, "SUM"):
		return joinSum
	case c.ArgIs(i, "MIN"):
		return joinMin
	case c.ArgIs(i, "MAX"):
		return joinMax
	}
	return nil
}

// bySize are the inputs from the smallest to the biggest. The order also says in which order scores are added, which
// decides about their last bits.
func (q *combineCommand) bySize() []weighted {
	slices.SortStableFunc(q.inputs, func(a, b weighted) int { return a.size - b.size })
	return q.inputs
}

func (q *combineCommand) unite(e *object.ZSetEdit) {
	inputs := q.bySize()
	for i := range inputs {
		w := &inputs[i]
		w.Each(func(member []byte, score float64) bool {
			e.Gather(member, w.gives(score), q.join)
			return true
		})
	}
}

// intersect calls fn for the members that all inputs have, with their scores, until it returns false.
func (q *combineCommand) intersect(fn func(member []byte, score float64) bool) {
	inputs := q.bySize()
	first, others := &inputs[0], inputs[1:]
	first.Each(func(member []byte, score float64) bool {
		total := first.gives(score)
		for i := range others {
			other, found := others[i].Score(member)
			if !found {
				return true
			}
			total = q.join(total, other*others[i].weight)
		}
		return fn(member, total)
	})
}

// countShared is the number of members that all inputs have, up to the limit.
func (q *combineCommand) countShared() (n int64) {
	q.intersect(func([]byte, float64) bool {
		n++
		return n != q.limit
	})
	return n
}

// subtract gathers what the first input has and no other.
func (q *combineCommand) subtract(e *object.ZSetEdit) {
	first, others := &q.inputs[0], q.inputs[1:]
	slices.SortStableFunc(others, func(a, b weighted) int { return b.size - a.size }) // the likeliest to have it first
	first.Each(func(member []byte, score float64) bool {
		for i := range others {
			if _, found := others[i].Score(member); found {
				return true
			}
		}
		e.Gather(member, score, q.join)
		return true
	})
}
