package command

import (
	"math"
	"strconv"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/geo"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the commands on single places. Places are members of a sorted set whose scores are their positions.

func geoHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"geoadd":               {Run: cmdGeoAdd},
		"geopos":               {Run: cmdGeoPos},
		"geohash":              {Run: cmdGeoHash},
		"geodist":              {Run: cmdGeoDist},
		"georadius":            {Run: func(c *engine.Ctx) { searchPlaces(c, geoRadius) }},
		"georadius_ro":         {Run: func(c *engine.Ctx) { searchPlaces(c, geoRadiusRO) }},
		"georadiusbymember":    {Run: func(c *engine.Ctx) { searchPlaces(c, geoRadiusByMember) }},
		"georadiusbymember_ro": {Run: func(c *engine.Ctx) { searchPlaces(c, geoRadiusByMemberRO) }},
		"geosearch":            {Run: func(c *engine.Ctx) { searchPlaces(c, geoSearch) }},
		"geosearchstore":       {Run: func(c *engine.Ctx) { searchPlaces(c, geoSearchStore) }},
	}
}

var wordZAdd = []byte("ZADD")

// pointAt reads arguments i and i+1 as longitude and latitude; false when the error has been replied.
func pointAt(c *engine.Ctx, i int) (p geo.Point, ok bool) {
	if p.Lon, ok = floatAt(c, i, engine.ErrNotFloat); !ok {
		return p, false
	}
	if p.Lat, ok = floatAt(c, i+1, engine.ErrNotFloat); !ok {
		return p, false
	}
	if !p.Valid() {
		c.Err("ERR invalid longitude,latitude pair " + sixDecimals(p.Lon) + "," + sixDecimals(p.Lat))
		return p, false
	}
	return p, true
}

// floatAt reads argument i as a float; otherwise text has been replied.
func floatAt(c *engine.Ctx, i int, text string) (float64, bool) {
	f, ok := num.ParseFloat(c.Args[i])
	if !ok {
		c.Err(text)
	}
	return f, ok
}

func sixDecimals(f float64) string {
	if math.IsInf(f, 0) {
		return string(num.AppendFloat(nil, f))
	}
	return strconv.FormatFloat(f, 'f', 6, 64)
}

// unitAt reads argument i as a unit of length, in metres; false when the error has been replied.
func unitAt(c *engine.Ctx, i int) (metres float64, ok bool) {
	switch {
	case c.ArgIs(i, "M"):
		return 1, true
	case c.ArgIs(i, "KM"):
		return 1000, true
	case c.ArgIs(i, "FT"):
		return 0.3048, true
	case c.ArgIs(i, "MI"):
		return 1609.34, true
	}
	c.Err("ERR unsupported unit provided. please use M, KM, FT, MI")
	return 0, false
}

// replyDistance replies a distance with four decimals.
func replyDistance(c *engine.Ctx, d float64) {
	const decimals = 10000
	var text [32]byte
	n := int64(math.RoundToEven(d * decimals))
	b := append(num.AppendInt(text[:0], n/decimals), '.')
	for unit := int64(decimals / 10); unit > 0; unit /= 10 {
		b = append(b, '0'+byte(n/unit%10))
	}
	c.Bulk(b)
}

// replyPoint replies a position with as many of 17 decimals as are not zero at the end.
func replyPoint(c *engine.Ctx, p geo.Point) {
	c.Array(2)
	replyDegrees(c, p.Lon)
	replyDegrees(c, p.Lat)
}

func replyDegrees(c *engine.Ctx, deg float64) {
	var text [32]byte
	b := strconv.AppendFloat(text[:0], deg, 'f', 17, 64)
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	if b[len(b)-1] == '.' {
		b = b[:len(b)-1]
	}
	if string(b) == "-0" {
		b = b[1:]
	}
	if c.Proto() == resp.RESP2 {
		c.Bulk(b)
		return
	}
	c.Append(func(dst []byte, _ resp.Version) []byte {
		return append(append(append(dst, ','), b...), "\r\n"...)
	})
}

// cmdGeoAdd is ZADD with positions for scores, and is logged as that.
func cmdGeoAdd(c *engine.Ctx) {
	o := zaddOptions{at: 2}
	for ; o.at < len(c.Args); o.at++ {
		switch {
		case c.ArgIs(o.at, "NX"):
			o.mode |= object.AddNX
			continue
		case c.ArgIs(o.at, "XX"):
			o.mode |= object.AddXX
			continue
		case c.ArgIs(o.at, "CH"):
			o.ch = true
			continue
		}
		break
	}
	places := c.Args[o.at:]
	if len(places)%3 != 0 || o.mode == object.AddNX|object.AddXX {
		c.Err(engine.ErrSyntax)
		return
	}
	var few [scoresAtOnce]float64
	scores := few[:0]
	for i := o.at; i < len(c.Args); i += 3 {
		p, ok := pointAt(c, i)
		if !ok {
			return
		}
		scores = append(scores, float64(geo.Score(p)))
	}
	if len(scores) == 0 {
		c.Err(engine.ErrSyntax)
		return
	}
	_, exists, ok := c.WriteType(0, keyspace.TypeZSet)
	if !ok {
		return
	}
	var t addTally
	if exists || o.mode&object.AddXX == 0 {
		t = addPairs(c, o, memberList{c.Args[o.at+2:], 3}, scores, exists)
	}
	if t.added+t.updated > 0 {
		propagateGeoAdd(c, o, scores)
	}
	t.reply(c, o)
}

func propagateGeoAdd(c *engine.Ctx, o zaddOptions, scores []float64) {
	args := append([][]byte{wordZAdd}, c.Args[1:o.at]...)
	for i, score := range scores {
		args = append(args, num.AppendInt(nil, int64(score)), c.Args[o.at+3*i+2])
	}
	c.Propagate(args...)
}

func cmdGeoPos(c *engine.Ctx) {
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); !ok {
		return
	}
	c.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		if score, found := z.Score(member); found {
			replyPoint(c, geo.At(score))
		} else {
			c.NullArray()
		}
	}
}

func cmdGeoHash(c *engine.Ctx) {
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); !ok {
		return
	}
	c.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		if score, found := z.Score(member); found {
			text := geo.Text(geo.At(score))
			c.Bulk(text[:])
		} else {
			c.Null()
		}
	}
}

func cmdGeoDist(c *engine.Ctx) {
	unit, ok := 1.0, true
	switch {
	case len(c.Args) > 5:
		c.Err(engine.ErrSyntax)
		return
	case len(c.Args) == 5:
		if unit, ok = unitAt(c, 4); !ok {
			return
		}
	}
	var z object.ZSet
	if _, ok := readZSet(c, 0, &z); !ok {
		return
	}
	from, found := z.Score(c.Args[2])
	to, both := z.Score(c.Args[3])
	if !found || !both {
		c.Null()
		return
	}
	replyDistance(c, geo.Distance(geo.At(from), geo.At(to))/unit)
}
