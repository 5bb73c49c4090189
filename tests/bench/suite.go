package main

import (
	"fmt"
	"regexp"
	"strings"
)

// This file holds the tests that redis-benchmark has by itself and XADD, each by redis-benchmark and by the client of light.go.

// suiteTest is one command on one key, or on one of lightNumbers keys.
type suiteTest struct {
	name       string
	requests   int // sixteen at a time
	fill       func(p *pipe, requests int)
	cmd        string
	replyBytes int // 0 where it varies
}

const shortReply = len("+OK\r\n")

func suiteTests() []suiteTest {
	list := one("RPUSH", "mylist", func(args []any, _ int) []any { return append(args, "xxx") })
	lrange := func(elements int) suiteTest {
		size := len(fmt.Sprintf("*%d\r\n", elements)) + elements*len("$3\r\nxxx\r\n")
		return suiteTest{fmt.Sprint("LRANGE ", elements), 12_000_000 / elements, list, fmt.Sprint("LRANGE mylist 0 ", elements-1), size}
	}
	return []suiteTest{
		{"SET", 2_000_000, nil, "SET key:__rand_int__ xxx", shortReply},
		{"GET", 2_000_000, fillKeys, "GET key:__rand_int__", len("$3\r\nxxx\r\n")},
		{"INCR", 2_000_000, nil, "INCR counter:__rand_int__", 0},
		{"MSET of 10", 400_000, nil, "MSET" + strings.Repeat(" key:__rand_int__ xxx", 10), shortReply},
		{"LPUSH", 2_000_000, nil, "LPUSH mylist xxx", 0},
		{"RPUSH", 2_000_000, nil, "RPUSH mylist xxx", 0},
		{"LPOP", 2_000_000, list, "LPOP mylist", 0},
		{"RPOP", 2_000_000, list, "RPOP mylist", 0},
		{"SADD", 1_000_000, nil, "SADD myset element:__rand_int__", 0},
		{"SPOP", 1_000_000, one("SADD", "myset", member), "SPOP myset", 0},
		{"HSET", 1_000_000, nil, "HSET myhash element:__rand_int__ xxx", 0},
		{"ZADD", 1_000_000, nil, "ZADD myzset __rand_int__ element:__rand_int__", 0},
		{"ZPOPMIN", 1_000_000, one("ZADD", "myzset", scored), "ZPOPMIN myzset", 0},
		{"XADD", 1_000_000, nil, "XADD mystream MAXLEN ~ 100000 * sensor 12345678 value 12.5", 0},
		lrange(100), lrange(300), lrange(500), lrange(600),
	}
}

func fillKeys(p *pipe, _ int) {
	for i := range lightNumbers {
		p.send("SET", fmt.Sprintf("key:%012d", i), "xxx")
	}
}

// suiteTable prints the rates of both clients.
func suiteTable(ours, theirs *node, match *regexp.Regexp, rounds, scale int) error {
	for _, pipeline := range []int{1, 16} {
		for _, light := range []bool{false, true} {
			client := "redis-benchmark"
			if light {
				client = "light client"
			}
			fmt.Printf("\n%-24s %s\n", fmt.Sprintf("%s, pipeline %d", client, pipeline), pairsHead)
			for _, t := range suiteTests() {
				if !match.MatchString(fmt.Sprintf("%s, pipeline %d", t.name, pipeline)) {
					continue
				}
				if err := t.compare([2]*node{ours, theirs}, light, pipeline, rounds, scale); err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
			}
		}
	}
	return nil
}

func (t suiteTest) compare(nodes [2]*node, light bool, pipeline, rounds, scale int) error {
	requests := t.requests / scale
	if pipeline == 1 {
		requests = min(requests, 100_000/scale)
	}
	var pairs pairs
	for range rounds {
		for i, n := range nodes {
			err := n.prepare(func(_ *maker, p *pipe, _ int) {
				if t.fill != nil {
					t.fill(p, requests)
				}
			}, scale)
			if err != nil {
				return err
			}
			var s sample
			if light {
				s, err = n.light(requests, pipeline, t.replyBytes, strings.Fields(t.cmd)...)
			} else {
				s, err = n.redisBenchmark(requests, pipeline, strings.Fields(t.cmd)...)
			}
			if err != nil {
				return err
			}
			pairs.add(i, s)
		}
	}
	fmt.Printf("%-24s ", t.name)
	pairs.print()
	return nil
}
