package main

import (
	"fmt"
	"regexp"
	"strings"
)

// This file holds the commands of data types: what one costs beside redis-server, sixteen at a time.

// dataCommand is a command on keys that were filled before.
type dataCommand struct {
	name     string
	requests int
	fill     func(w *maker, p *pipe, scale int)
	cmd      string // __rand_int__ is a number of 12 digits below 100,000
}

func dataCommands() []dataCommand {
	million := func(w *maker, p *pipe, scale int) { fillZSet(w, p, 1_000_000/scale) }
	return []dataCommand{
		{"ZRANGEBYSCORE LIMIT 10", 500_000, million, "ZRANGEBYSCORE zset __rand_int__000 +inf LIMIT 0 10"},
		{"ZRANK", 500_000, million, "ZRANK zset m__rand_int__"},
		{"HGETALL of 8", 500_000, fillOneHash, "HGETALL hash"},
		{"SINTER of 1,000", 20_000, fillTwoSets, "SINTER {s}a {s}b"},
		{"SINTERCARD of 1,000", 20_000, fillTwoSets, "SINTERCARD 2 {s}a {s}b"},
		{"SDIFF of 1,000", 20_000, fillTwoSets, "SDIFF {s}a {s}b"},
		{"SINTERSTORE of 1,000", 20_000, fillTwoSets, "SINTERSTORE {s}c {s}a {s}b"},
		{"GEOSEARCH COUNT 10", 20_000, fillPlaces, "GEOSEARCH places FROMLONLAT 15 37 BYRADIUS 200 km COUNT 10"},
		{"GEOSEARCH ASC", 10_000, fillPlaces, "GEOSEARCH places FROMLONLAT 15 37 BYRADIUS 200 km ASC"},
		{"GEOSEARCH", 10_000, fillPlaces, "GEOSEARCH places FROMLONLAT 15 37 BYRADIUS 200 km"},
	}
}

func fillOneHash(w *maker, p *pipe, _ int) {
	args := []any{"HSET", "hash"}
	for f := range 8 {
		args = append(args, fmt.Sprint("field", f), w.between(12, 12))
	}
	p.send(args...)
}

// fillTwoSets makes two sets of a thousand members, which share half of them.
func fillTwoSets(_ *maker, p *pipe, _ int) {
	for i := range 1000 {
		p.send("SADD", "{s}a", fmt.Sprint("element:", i))
		p.send("SADD", "{s}b", fmt.Sprint("element:", i+500))
	}
}

// fillPlaces makes a thousand places within four degrees, of which a circle of 200 km has two thirds.
func fillPlaces(w *maker, p *pipe, _ int) {
	for i := range 1000 {
		p.send("GEOADD", "places", fmt.Sprint(13+4*w.rng.Float64()), fmt.Sprint(35+4*w.rng.Float64()), fmt.Sprint("place:", i))
	}
}

// commandTable prints what the commands cost.
func commandTable(ours, theirs *node, match *regexp.Regexp, rounds, scale int) error {
	fmt.Printf("\n%-24s %s\n", "pipeline 16", pairsHead)
	for _, c := range dataCommands() {
		if !match.MatchString(c.name) {
			continue
		}
		for _, n := range []*node{ours, theirs} {
			if err := n.prepare(c.fill, scale); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		var pairs pairs
		for range rounds {
			for i, n := range []*node{ours, theirs} {
				s, err := n.redisBenchmark(c.requests/scale, 16, strings.Fields(c.cmd)...)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				pairs.add(i, s)
			}
		}
		fmt.Printf("%-24s ", c.name)
		pairs.print()
	}
	return nil
}

// prepare empties the server and fills what a command is to work on, the same in each server.
func (n *node) prepare(fill func(w *maker, p *pipe, scale int), scale int) error {
	err := n.send(func(p *pipe) {
		p.send("FLUSHALL", "SYNC")
		if fill != nil {
			fill(newMaker(), p, scale)
		}
	})
	if err != nil {
		return err
	}
	n.idle()
	return nil
}
