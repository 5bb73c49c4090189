package command

import (
	"math"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/geo"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the searches for places in a circle or a box.

// geoForm is one of the commands.
type geoForm uint8

const (
	geoRadius geoForm = iota
	geoRadiusRO
	geoRadiusByMember
	geoRadiusByMemberRO
	geoSearch
	geoSearchStore
)

func (f geoForm) isSearch() bool    { return f >= geoSearch }
func (f geoForm) byMember() bool    { return f == geoRadiusByMember || f == geoRadiusByMemberRO }
func (f geoForm) mayStore() bool    { return f == geoRadius || f == geoRadiusByMember }
func (f geoForm) source() (key int) { return [...]int{0, 0, 0, 0, 0, 1}[f] }
func (f geoForm) options() (at int) { return [...]int{6, 6, 5, 5, 2, 3}[f] }

// geoOrder is how the places found are ordered.
type geoOrder uint8

const (
	unordered geoOrder = iota
	nearestFirst
	farthestFirst
)

// geoQuery is a search with all its arguments.
type geoQuery struct {
	form   geoForm
	zset   object.ZSet // where it searches
	exists bool        // there is something to search
	shape  geo.Shape
	finder geo.Finder // of the shape, once it is known
	unit   float64    // metres

	fromMember, fromPoint, byRadius, byBox bool // what GEOSEARCH was given

	withDist, withHash, withCoord bool
	store                         bool
	storeDist                     bool
	order                         geoOrder
	count                         int64 // 0: all
	any                           bool
}

// place is a place that was found.
type place struct {
	member object.Member // lives until the part is changed
	at     geo.Point
	score  float64
	rough  float64 // distance, see geo.Finder; 0 when it is not wanted
}

// searchPlaces is all of the search commands.
func searchPlaces(c *engine.Ctx, form geoForm) {
	q := geoQuery{form: form, unit: 1, store: form == geoSearchStore}
	var ok bool
	if q.exists, ok = readZSet(c, form.source(), &q.zset); !ok {
		return
	}
	if !q.parseFixed(c) || !q.parseOptions(c) || !q.check(c) {
		return
	}
	if q.count != 0 && q.order == unordered && !q.any {
		q.order = nearestFirst
	}
	q.finder = q.shape.Finder()
	if q.order == unordered && !q.store {
		q.replyAsMet(c)
		return
	}
	var few [16]placeKey
	found := few[:0]
	if q.exists {
		found = q.sorted(q.find(found))
	}
	if q.store {
		q.storePlaces(c, found)
		return
	}
	c.Array(len(found))
	for _, k := range found {
		p := q.placeOf(k)
		q.reply(c, &p)
	}
}

// parseFixed reads the arguments that GEORADIUS and its kind have in fixed places; false when the error has been replied.
func (q *geoQuery) parseFixed(c *engine.Ctx) (ok bool) {
	at := 4
	switch {
	case q.form.isSearch():
		return true
	case !q.form.byMember():
		if q.shape.Center, ok = pointAt(c, 2); !ok {
			return false
		}
	case !q.exists:
		return true // it is not looked at
	default:
		at = 3
		if !q.fromPlace(c, 2) {
			return false
		}
	}
	return q.parseRadius(c, at)
}

// fromPlace makes the position of a member, argument i, the center.
func (q *geoQuery) fromPlace(c *engine.Ctx, i int) bool {
	score, found := q.zset.Score(c.Args[i])
	if !found {
		c.Err("ERR could not decode requested zset member")
		return false
	}
	q.shape.Center = geo.At(score)
	return true
}

// parseRadius reads argument i and the unit behind it.
func (q *geoQuery) parseRadius(c *engine.Ctx, i int) bool {
	radius, ok := floatAt(c, i, "ERR need numeric radius")
	if !ok {
		return false
	}
	if radius < 0 {
		c.Err("ERR radius cannot be negative")
		return false
	}
	if q.unit, ok = unitAt(c, i+1); !ok {
		return false
	}
	q.shape.IsBox, q.shape.Radius = false, radius*q.unit
	return true
}

// parseBox reads arguments i and i+1 and the unit behind them.
func (q *geoQuery) parseBox(c *engine.Ctx, i int) bool {
	width, ok := floatAt(c, i, "ERR need numeric width")
	if !ok {
		return false
	}
	height, ok := floatAt(c, i+1, "ERR need numeric height")
	if !ok {
		return false
	}
	if width < 0 || height < 0 {
		c.Err("ERR height or width cannot be negative")
		return false
	}
	if q.unit, ok = unitAt(c, i+2); !ok {
		return false
	}
	q.shape.IsBox, q.shape.Width, q.shape.Height = true, width*q.unit, height*q.unit
	return true
}

// parseOptions reads the words behind the fixed arguments; false when the error has been replied.
func (q *geoQuery) parseOptions(c *engine.Ctx) bool {
	for i := q.form.options(); i < len(c.Args); i++ {
		if q.takeFlag(c, i) {
			continue
		}
		used, ok := q.takeOption(c, i)
		if ok && used == 0 && q.form.isSearch() {
			used, ok = q.takeShape(c, i)
		}
		if ok && used == 0 {
			c.Err(engine.ErrSyntax)
			ok = false
		}
		if !ok {
			return false
		}
		i += used - 1
	}
	return true
}

// takeFlag accepts a word that stands alone.
func (q *geoQuery) takeFlag(c *engine.Ctx, i int) bool {
	switch {
	case c.ArgIs(i, "WITHDIST"):
		q.withDist = true
	case c.ArgIs(i, "WITHHASH"):
		q.withHash = true
	case c.ArgIs(i, "WITHCOORD"):
		q.withCoord = true
	case c.ArgIs(i, "ANY"):
		q.any = true
	case c.ArgIs(i, "ASC"):
		q.order = nearestFirst
	case c.ArgIs(i, "DESC"):
		q.order = farthestFirst
	case q.form == geoSearchStore && c.ArgIs(i, "STOREDIST"):
		q.storeDist = true
	default:
		return false
	}
	return true
}

// takeOption accepts a word with its argument, and returns how many arguments that are. ok is false when the error has been
// replied.
func (q *geoQuery) takeOption(c *engine.Ctx, i int) (used int, ok bool) {
	if i+1 >= len(c.Args) {
		return 0, true
	}
	switch {
	case c.ArgIs(i, "COUNT"):
		if q.count, ok = c.Int(i + 1); !ok {
			return 0, false
		}
		if q.count <= 0 {
			c.Err("ERR COUNT must be > 0")
			return 0, false
		}
		return 2, true
	case q.form.mayStore() && c.ArgIs(i, "STORE"):
		q.store, q.storeDist = true, false
		return 2, true
	case q.form.mayStore() && c.ArgIs(i, "STOREDIST"):
		q.store, q.storeDist = true, true
		return 2, true
	}
	return 0, true
}

// takeShape accepts what says where GEOSEARCH searches.
func (q *geoQuery) takeShape(c *engine.Ctx, i int) (used int, ok bool) {
	left := len(c.Args) - i - 1
	switch {
	case left >= 1 && !q.fromPoint && c.ArgIs(i, "FROMMEMBER"):
		q.fromMember = true
		return 2, !q.exists || q.fromPlace(c, i+1)
	case left >= 2 && !q.fromMember && c.ArgIs(i, "FROMLONLAT"):
		q.fromPoint = true
		q.shape.Center, ok = pointAt(c, i+1)
		return 3, ok
	case left >= 2 && !q.byBox && c.ArgIs(i, "BYRADIUS"):
		q.byRadius = true
		return 3, q.parseRadius(c, i+1)
	case left >= 3 && !q.byRadius && c.ArgIs(i, "BYBOX"):
		q.byBox = true
		return 4, q.parseBox(c, i+1)
	}
	return 0, true
}

// check looks for options that do not go together; false when the error has been replied.
func (q *geoQuery) check(c *engine.Ctx) bool {
	text := ""
	switch {
	case q.store && (q.withDist || q.withHash || q.withCoord):
		what := "STORE option in GEORADIUS"
		if q.form == geoSearchStore {
			what = "GEOSEARCHSTORE"
		}
		text = "ERR " + what + " is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
	case q.form.isSearch() && !q.fromMember && !q.fromPoint:
		text = "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for " + string(c.Args[0])
	case q.form.isSearch() && !q.byRadius && !q.byBox:
		text = "ERR exactly one of BYRADIUS and BYBOX can be specified for " + string(c.Args[0])
	case q.any && q.count == 0:
		text = "ERR the ANY argument requires COUNT argument"
	default:
		return true
	}
	c.Err(text)
	return false
}

// each calls fn for the places inside the shape until it returns false.
func (q *geoQuery) each(fn func(p *place, it *object.ZSetIter) bool) {
	measure := q.order != unordered
	var p place
	for _, cell := range q.shape.Cells() {
		if cell.IsNone() {
			continue
		}
		low, high := cell.Range()
		it := q.zset.At(q.zset.RankOfScore(low, false), false)
		for ; it.Valid(); it.Next() {
			if p.score = it.Score(); p.score >= high {
				break
			}
			inside := false
			p.at = geo.At(p.score)
			if p.rough, inside = q.finder.Find(p.at, measure); inside && !fn(&p, &it) {
				return
			}
		}
	}
}

// most is how many places are wanted.
func (q *geoQuery) most() int64 {
	if q.count == 0 {
		return math.MaxInt64
	}
	return q.count
}

// replyAsMet replies the places in the order in which they are met.
func (q *geoQuery) replyAsMet(c *engine.Ctx) {
	list, n := c.Defer(), 0
	if q.exists {
		q.each(func(p *place, it *object.ZSetIter) bool {
			p.member, _ = it.Get()
			q.reply(c, p)
			n++
			return int64(n) < q.most()
		})
	}
	c.CloseArray(list, n)
}

// reply replies a place.
func (q *geoQuery) reply(c *engine.Ctx, p *place) {
	parts := 1
	for _, with := range [...]bool{q.withDist, q.withHash, q.withCoord} {
		if with {
			parts++
		}
	}
	if parts > 1 {
		c.Array(parts)
	}
	replyMember(c, p.member)
	if q.withDist {
		replyDistance(c, q.finder.Metres(p.at)/q.unit)
	}
	if q.withHash {
		c.ReplyInt(int64(p.score))
	}
	if q.withCoord {
		replyPoint(c, p.at)
	}
}

// storePlaces sets the target to the places found, with their positions for scores or their distances.
func (q *geoQuery) storePlaces(c *engine.Ctx, found []placeKey) {
	target, event := c.NumKeys()-1, "georadiusstore"
	if q.form == geoSearchStore {
		target, event = 0, "geosearchstore"
	}
	e := object.GatherZSet(c.Place(target), limitsOf(c), c.W.Scratch())
	var digits [20]byte
	for _, k := range found {
		p := q.placeOf(k)
		score := p.score
		if q.storeDist {
			score = q.finder.Metres(p.at) / q.unit
		}
		e.Gather(p.member.Text(digits[:0]), score, joinMax)
	}
	e.Settle()
	e.Compact()
	if n := len(found); n > 1 {
		c.CountChanges(n - 1)
	}
	storeZSet(c, target, &e, event)
}
