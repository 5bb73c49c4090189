package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"text/tabwriter"
	"time"
)

// This file holds the table of resident bytes: what each shape of data takes in covey and in redis-server. Every figure is
// the growth of a server that was just started, so that nothing of an earlier shape is in it, and what a server spends once
// is: the fixed cost counts most where there is little data.

// shape is a set of keys to measure.
type shape struct {
	name  string
	units int // what the bytes are divided by: keys, or elements of one big key
	bar   float64
	fill  func(w *maker, p *pipe, units int)
}

// maker makes keys and values: the same for each server, as the seed is.
type maker struct {
	rng   *rand.Rand
	bytes []byte
}

func newMaker() *maker { return &maker{rng: rand.New(rand.NewPCG(1, 2))} }

// between is a text of a length from low to high, which no server can make shorter.
func (w *maker) between(low, high int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	w.bytes = w.bytes[:0]
	for range low + w.rng.IntN(high-low+1) {
		w.bytes = append(w.bytes, letters[w.rng.IntN(len(letters))])
	}
	return append([]byte(nil), w.bytes...)
}

func shapes() []shape {
	return []shape{
		{"strings, 16 B keys, 32 B values", 1_000_000, 0.65, fillStrings},
		{"hashes of 8 fields", 200_000, 0.9, fillSmallHashes},
		{"hashes of 8 fields", 800_000, 0.9, fillSmallHashes},
		{"one hash, 10 B fields, 20 B values", 1_000_000, 0.7, fillHash},
		{"sets of 10 members", 200_000, 0.9, fillSmallSets},
		{"one set, 12 B members", 1_000_000, 0.75, fillSet},
		{"zsets of 10 members", 200_000, 0.9, fillSmallZSets},
		{"one zset, 12 B members", 1_000_000, 0.65, fillZSet},
		{"lists of 10 elements", 200_000, 1, lists(10)},
		{"lists of 100 elements", 20_000, 1, lists(100)},
		{"lists of 1000 elements", 2_000, 1, lists(1000)},
		{"lists of 1000 elements", 10_000, 1, lists(1000)},
		{"lists of 1000 elements, at the head", 2_000, 1, fillListsAtHead},
		{"lists of 1000 elements, at the head", 10_000, 1, fillListsAtHead},
		{"one list, 10-100 B elements", 1_000_000, 1, fillList},
		{"streams of 10 entries", 100_000, 1, fillSmallStreams},
		{"one stream, 2 or 3 fields", 1_000_000, 1, fillStream},
		{"one stream, half of it pending", 500_000, 1, fillPending},
	}
}

// memoryTable prints what each shape takes.
func memoryTable(binary, dir string, match *regexp.Regexp, scale int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nresident bytes\tunits\tcovey B/unit\tredis B/unit\tratio\tbar\t")
	for _, s := range shapes() {
		if !match.MatchString(s.name) {
			continue
		}
		units := max(s.units/scale, 1)
		var grown [2]int64
		for i, start := range []func() (*node, error){
			func() (*node, error) { return start(fmt.Sprint("covey-", s.name, s.units), dir, binary, "server") },
			func() (*node, error) { return start(fmt.Sprint("redis-", s.name, s.units), dir, "redis-server") },
		} {
			n, err := start()
			if err != nil {
				return err
			}
			grown[i], err = n.grows(s, units)
			n.stop()
			if err != nil {
				return err
			}
		}
		ours, theirs := float64(grown[0])/float64(units), float64(grown[1])/float64(units)
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.2f\t%.2f\t\n", s.name, units, ours, theirs, ours/theirs, s.bar)
		w.Flush()
	}
	return nil
}

// settle is how long a server may give memory back after it was filled.
const settle = 5 * time.Second

// grows is by how much a server grows with a shape.
func (n *node) grows(s shape, units int) (int64, error) {
	before := n.resident()
	if err := n.send(func(p *pipe) { s.fill(newMaker(), p, units) }); err != nil {
		return 0, err
	}
	time.Sleep(settle)
	return n.resident() - before, nil
}

func key(i int) string { return fmt.Sprintf("key:%012d", i) }

func fillStrings(w *maker, p *pipe, units int) {
	for i := range units {
		p.send("SET", key(i), w.between(32, 32))
	}
}

func fillSmallHashes(w *maker, p *pipe, units int) {
	for i := range units {
		args := []any{"HSET", key(i)}
		for f := range 8 {
			args = append(args, fmt.Sprint("field", f), w.between(12, 12))
		}
		p.send(args...)
	}
}

func fillHash(w *maker, p *pipe, units int) {
	for i := range units {
		p.send("HSET", "hash", fmt.Sprintf("f%09d", i), w.between(20, 20))
	}
}

func fillSmallSets(w *maker, p *pipe, units int) {
	for i := range units {
		args := []any{"SADD", key(i)}
		for range 10 {
			args = append(args, w.between(12, 12))
		}
		p.send(args...)
	}
}

func fillSet(_ *maker, p *pipe, units int) {
	for i := range units {
		p.send("SADD", "set", fmt.Sprintf("m%011d", i))
	}
}

func fillSmallZSets(w *maker, p *pipe, units int) {
	for i := range units {
		args := []any{"ZADD", key(i)}
		for range 10 {
			args = append(args, w.rng.IntN(1000), w.between(12, 12))
		}
		p.send(args...)
	}
}

func fillZSet(w *maker, p *pipe, units int) {
	for i := range units {
		p.send("ZADD", "zset", w.rng.IntN(1_000_000_000), fmt.Sprintf("m%011d", i))
	}
}

// lists makes lists of so many elements, one after the other.
func lists(size int) func(*maker, *pipe, int) {
	return func(w *maker, p *pipe, units int) {
		for i := range units {
			for range size {
				p.send("RPUSH", key(i), w.between(10, 100))
			}
		}
	}
}

func fillListsAtHead(w *maker, p *pipe, units int) {
	for i := range units {
		for range 1000 {
			p.send("LPUSH", key(i), w.between(10, 100))
		}
	}
}

func fillList(w *maker, p *pipe, units int) {
	for range units {
		p.send("RPUSH", "list", w.between(10, 100))
	}
}

func addEntry(w *maker, p *pipe, key, id string) {
	args := []any{"XADD", key, id, "sensor", w.between(8, 8), "value", w.between(4, 12)}
	if w.rng.IntN(2) == 0 {
		args = append(args, "note", w.between(4, 20))
	}
	p.send(args...)
}

func fillSmallStreams(w *maker, p *pipe, units int) {
	for i := range units {
		for e := range 10 {
			addEntry(w, p, key(i), fmt.Sprintf("%d-0", 1_700_000_000_000+i+1000*e))
		}
	}
}

func fillStream(w *maker, p *pipe, units int) {
	for i := range units {
		addEntry(w, p, "stream", fmt.Sprintf("%d-%d", 1_700_000_000_000+i/3, i%3))
	}
}

// fillPending makes a stream with a group of 4 consumers, to which every second entry is delivered.
func fillPending(w *maker, p *pipe, units int) {
	fillStream(w, p, units)
	p.send("XGROUP", "CREATE", "stream", "group", "0")
	const batch = 100
	for i := 0; i < units/2; i += batch {
		p.send("XREADGROUP", "GROUP", "group", fmt.Sprint("consumer", i/batch%4), "COUNT", batch, "STREAMS", "stream", ">")
	}
}
