package main

import (
	"fmt"
	"strings"
)

const memoryKeys = 5_000_000

// memory compares resident bytes a key, with keys of 16 bytes and values of 32.
func memory(ours, theirs *node, scale int) error {
	keys := memoryKeys / scale
	var per [2]float64
	for i, n := range []*node{ours, theirs} {
		if err := n.flush(); err != nil {
			return err
		}
		before := n.resident()
		if err := n.fill(keys); err != nil {
			return err
		}
		per[i] = float64(n.resident()-before) / float64(keys)
	}
	fmt.Printf("\nresident bytes a key (16 B keys, 32 B values, %d keys): covey %.1f, redis %.1f, ratio %.2f\n", keys, per[0], per[1], per[0]/per[1])
	return nil
}

func (n *node) flush() error { return n.ask("FLUSHALL") }

// fill writes keys "key:000000000000" with a pipeline.
func (n *node) fill(keys int) error {
	value := strings.Repeat("v", 32)
	return n.send(func(p *pipe) {
		for i := range keys {
			p.send("SET", key(i), value)
		}
	})
}
