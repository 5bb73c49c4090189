package compat

import (
	"strconv"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// The families of streams and of places on the earth, which are sorted sets.

func streamFamily() *family {
	limits := func(bytes, entries string) []string {
		return []string{"stream-node-max-bytes", bytes, "stream-node-max-entries", entries}
	}
	return &family{name: "streams", prelude: []string{"SET wrong text"}, configs: [][]string{limits("4096", "100"), limits("4096", "3"), limits("64", "0"), limits("0", "1")}, table: `
		8 XADD key id (field value)+
		3 XADD key [NOMKSTREAM] [(MAXLEN | MINID) [= | ~] limit] [LIMIT limit] id (field value)+
		  XADD key [MINID [= | ~] id] id field value
		2 XDEL key (id)+
		  XLEN key
		3 XRANGE key start end [COUNT count]
		3 XREVRANGE key end start [COUNT count]
		2 XTRIM key MAXLEN [= | ~] limit [LIMIT limit]
		2 XTRIM key MINID [= | ~] id
		  XTRIM key word limit
		  XSETID key id [ENTRIESADDED limit] [MAXDELETEDID id]
		3 XREAD [COUNT count] STREAMS key id
		  XREAD [COUNT limit] [BLOCK 1] STREAMS key key id ('$ | id)
		4 XGROUP CREATE key groupname (id | '$) [MKSTREAM] [ENTRIESREAD limit]
		  XGROUP SETID key groupname (id | '$) [ENTRIESREAD limit]
		  XGROUP DESTROY key groupname
		  XGROUP CREATECONSUMER key groupname consumer
		  XGROUP DELCONSUMER key groupname consumer
		6 XREADGROUP GROUP groupname consumer [COUNT count] [NOACK] STREAMS key (> | id)
		  XREADGROUP GROUP groupname consumer STREAMS key key > (> | id)
		3 XACK key groupname (id)+
		2 XPENDING key groupname
		2 XPENDING key groupname [IDLE 0] start end count [consumer]
		3 XCLAIM key groupname consumer (0 | limit) (id)+ [IDLE 0] [RETRYCOUNT limit] [FORCE] [JUSTID] [LASTID id]
		2 XAUTOCLAIM key groupname consumer 0 id [COUNT limit] [JUSTID]
		  XINFO STREAM key
		  XINFO STREAM key FULL [COUNT limit]
		  XINFO GROUPS key
		  XINFO CONSUMERS key groupname
		  OBJECT ENCODING key
		  CARRY key key
		  COPY key key REPLACE
		  EXPIRE key seconds
		  DEL key
	`}
}

func addStreamGenerators(g map[string]func(d *draw) []string, of func(label string, usual, odd []string) func(d *draw) []string) {
	ids := []string{"1-1", "1-2", "2-0", "2-1", "3-1", "4-*", "5-*", "5-1", "6-0", "7-3", "8-1", "9-*", "9-9", "10-1", "11", "12-5"}
	odd := []string{"0-0", "0", "0-1", "18446744073709551615-18446744073709551615", "18446744073709551615-1", "18446744073709551616-0", "1-18446744073709551615",
		"-1-1", "x", "", "1-", "-", "1-x", "1-1-1", "01-01", " 1-1"}
	g["id"] = of("id", ids, odd)
	g["start"] = of("start", []string{"-", "1-1", "2", "(2-1", "5-1", "(5", "9-9"}, append([]string{"+", "(-", "(18446744073709551615-18446744073709551615"}, odd...))
	g["end"] = of("end", []string{"+", "10-1", "9", "(9-9", "5-1", "(7", "2-1"}, append([]string{"-", "(+", "(0-0"}, odd...))
	g["groupname"] = of("group", []string{"g1", "g1", "g1", "g2"}, []string{"", "no\x00"})
	g["consumer"] = of("consumer", []string{"alice", "bob"}, []string{"", "\xff"})
}

// timesOfStreams are fields of XINFO that depend on the clock or on how a stream is held; those of 7.2 are left out whether
// they are there or not.
func timesOfStreams(name string) (noted, new bool) {
	switch name {
	case "idle", "seen-time", "radix-tree-keys", "radix-tree-nodes":
		return true, false
	case "lag", "entries-read": // what a group has missed is told as by later versions
		return true, false
	case "inactive", "active-time":
		return true, true
	}
	return false, false
}

// withoutTimes leaves out what may differ in the replies of XINFO and XPENDING.
func withoutTimes(v reply.Value) reply.Value {
	if pending := len(v.Items) == 4 && v.Items[0].Kind == reply.Bulk && v.Items[1].Kind == reply.Bulk && v.Items[2].Kind == reply.Int; pending {
		v.Items = []reply.Value{v.Items[0], v.Items[1], v.Items[3]} // without the idle time
		return v
	}
	if delivered := len(v.Items) == 4 && v.Items[0].Kind == reply.Bulk && v.Items[2].Kind == reply.Int && v.Items[3].Kind == reply.Int; delivered {
		v.Items = []reply.Value{v.Items[0], v.Items[1], v.Items[3]}
		return v
	}
	if delivered := len(v.Items) == 3 && v.Items[0].Kind == reply.Bulk && v.Items[1].Kind == reply.Int && v.Items[2].Kind == reply.Int; delivered {
		v.Items = []reply.Value{v.Items[0], v.Items[2]} // pending of one consumer: without the time of delivery
		return v
	}
	var items []reply.Value
	for i := 0; i < len(v.Items); i++ {
		noted, new := timesOfStreams(v.Items[i].Text)
		if noted && v.Items[i].Kind == reply.Bulk && i+1 < len(v.Items) {
			if !new {
				items = append(items, v.Items[i])
			}
			i++
			continue
		}
		items = append(items, withoutTimes(v.Items[i]))
	}
	v.Items = items
	return v
}

func geoFamily() *family {
	return &family{name: "geo", prelude: []string{"SET wrong text"}, table: `
		# The last digits of distances depend on how sines are rounded, so that STOREDIST is not here.
		# No two are likely to be equally far from anywhere: their order would be open.
		6 GEOADD key (east north element)+
		2 GEOADD key [NX | XX] [CH] (east north element)+
		  GEOADD 'odd (longitude latitude element)
		  GEOPOS 'odd element
		  GEOADD key (hundreds | word)
		2 GEOPOS key (element)*
		2 GEODIST key element element [unit]
		2 GEOHASH key (element)*
		4 GEOSEARCH key (FROMMEMBER element | FROMLONLAT longitude latitude) (BYRADIUS radius unit | BYBOX radius radius unit) [ASC | DESC] [COUNT limit [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]
		2 GEOSEARCH key (FROMMEMBER element | FROMLONLAT longitude latitude) (BYRADIUS radius unit | BYBOX radius radius unit) ASC WITHDIST WITHCOORD
		2 GEOSEARCHSTORE key key FROMLONLAT longitude latitude BYRADIUS radius unit [COUNT limit]
		  GEOSEARCHSTORE key key FROMMEMBER element BYBOX radius radius unit
		2 GEORADIUS key longitude latitude radius unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT limit] [ASC | DESC]
		  GEORADIUS key longitude latitude radius unit [COUNT limit] STORE key
		  GEORADIUS_RO key longitude latitude radius unit ASC
		2 GEORADIUSBYMEMBER key element radius unit [WITHDIST] [ASC]
		  GEORADIUSBYMEMBER_RO key element radius unit DESC [COUNT limit]
		  ZADD key score element
		  ZRANGE key 0 -1 WITHSCORES
		  ZREM key element
	`}
}

func addGeoGenerators(g map[string]func(d *draw) []string, of func(label string, usual, odd []string) func(d *draw) []string) {
	g["longitude"] = of("longitude", []string{"13.361389", "15.087269", "0", "2.3522", "-74.006", "139.69", "179.9", "-179.9", "100.123456789"},
		[]string{"180", "-180", "180.1", "-181", "x", "nan", "inf", "", "1e-7"})
	g["latitude"] = of("latitude", []string{"38.115556", "37.502669", "0", "48.8566", "40.7128", "-33.86", "80", "-80"},
		[]string{"85.05112878", "-85.05112878", "85.06", "-90", "x", "nan", "", "1e-7"})
	for name, width := range map[string]int{"east": 175, "north": 84} {
		g[name] = func(d *draw) []string {
			d.drawn++
			n := rapid.IntRange(0, 1<<20).Draw(d.T, name) // small ones come again and again
			n = (n*7919+d.drawn*104729)%(2000*width) - 1000*width
			return []string{strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)}
		}
	}
	g["radius"] = of("radius", []string{"100", "200", "1", "1000", "5000", "20000", "0.5"}, []string{"0", "-1", "x", "1e10", "nan", "inf", ""})
	g["unit"] = of("unit", []string{"km", "m", "km", "mi", "ft"}, []string{"KM", "cm", ""})
	g["plain"] = of("plain", []string{"a", "b", "c", "d", "1", "2", "3", "5", "-1", "100", "1.5"}, []string{"", "1e3", "inf", "nan", "x y", "01", bigInt, "A"})
	g["small"] = of("small", []string{"1", "2", "3", "-4", "50"}, nil)
	g["weight"] = of("weight", []string{"w_*", "h_*->f1", "nosuch_*"}, []string{"w_*", "*", "#", "h_*->", "h_*->f1*", "", "w_**", "->f1*"})
	g["fetch"] = of("fetch", []string{"#", "w_*", "h_*->f1", "h_*->f2"}, []string{"nosuch_*", "*", "", "h_*->", "plain"})
	g["sample"] = of("sample", []string{"0", "1", "2", "3", "5", "20", "-1", "-3", "-8"}, append([]string{bigInt, smallInt, "1000"}, noNumbers()...))
}
