package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
)

// This file holds what the end of a very big value costs: how long the command takes that ends it, and how long clients of the
// same shard and of others wait until all of it is freed. It is time that passes, so each figure is the best of some rounds:
// what a busy machine adds does not come every time.

const (
	dropElements = 10_000_000
	dropGap      = 100 * time.Microsecond // between two questions of a client that waits
)

// dropValue is a big value, and how it is made.
type dropValue struct {
	name string
	fill func(p *pipe, n int)
}

func dropValues() []dropValue {
	return []dropValue{
		{"list", one("RPUSH", "src{t}", member)},
		{"set", one("SADD", "src{t}", member)},
		{"zset", one("ZADD", "src{t}", scored)},
		{"hash", one("HSET", "src{t}", field)},
		{"stream", func(p *pipe, n int) {
			for i := range n {
				p.send("XADD", "src{t}", fmt.Sprintf("%d-1", i+1), "sensor", "12345678", "value", "12.5")
			}
		}},
	}
}

// dropWay is a command that ends the value of big{t}, or of src{t}, which is gone after the last of them.
type dropWay struct {
	name string
	call string
}

func dropWays() []dropWay {
	return []dropWay{
		{"DEL", "DEL big{t}"}, {"UNLINK", "UNLINK big{t}"}, {"expiry", "PEXPIRE big{t} 1"}, {"SET over it", "SET big{t} x"},
		{"RENAME over it", "RENAME same{t} big{t}"}, {"FLUSHALL", "FLUSHALL"},
	}
}

// dropResult is the time that a command took, and the longest that a client of the same shard and of another waited.
type dropResult struct{ call, same, other time.Duration }

func (r *dropResult) best(s dropResult) {
	if *r == (dropResult{}) {
		*r = s
	}
	*r = dropResult{min(r.call, s.call), min(r.same, s.same), min(r.other, s.other)}
}

// dropTable prints what ending big values costs with one event loop and with two.
func dropTable(binary, dir string, match *regexp.Regexp, rounds, scale int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%d elements\tio-threads\tcall ms\tworst GET ms, same shard\tother shard\t\n", dropElements/scale)
	for _, threads := range []string{"1", "2"} {
		n, err := start("drops-"+threads, dir, binary, "server", "--io-threads", threads)
		if err != nil {
			return err
		}
		for _, v := range dropValues() {
			if err == nil && match.MatchString(v.name) {
				err = n.dropRows(w, v, threads, rounds, dropElements/scale)
			}
		}
		n.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *node) dropRows(w *tabwriter.Writer, v dropValue, threads string, rounds, elements int) error {
	ways := dropWays()
	results := make([]dropResult, len(ways))
	for range rounds {
		if err := n.send(func(p *pipe) { v.fill(p, elements) }); err != nil {
			return err
		}
		for i, way := range ways {
			r, err := n.drop(way)
			if err != nil {
				return fmt.Errorf("%s of a %s: %w", way.name, v.name, err)
			}
			results[i].best(r)
		}
	}
	for i, way := range ways {
		r := results[i]
		fmt.Fprintf(w, "%s, %s\t%s\t%.2f\t%.2f\t%.2f\t\n", v.name, way.name, threads, r.call.Seconds()*1e3, r.same.Seconds()*1e3, r.other.Seconds()*1e3)
	}
	return w.Flush()
}

// drop ends a value in one way.
func (n *node) drop(way dropWay) (r dropResult, err error) {
	err = n.send(func(p *pipe) {
		p.send("SET", "same{t}", "x")
		p.send("SET", "same2{t}", "x")
		p.send("SET", "other", "x")
		if way.name != "FLUSHALL" {
			p.send("COPY", "src{t}", "big{t}", "REPLACE")
		}
	})
	if err != nil {
		return r, err
	}
	if err := n.awaitFreed(); err != nil {
		return r, err
	}
	stop := make(chan struct{})
	same, other := n.watch("same2{t}", dropGap, stop), n.watch("other", dropGap, stop)
	begin := time.Now()
	err = n.ask(words(way.call)(0)...)
	r.call = time.Since(begin)
	time.Sleep(settle / 10) // an expiry has come by then
	if err == nil {
		err = n.awaitFreed()
	}
	close(stop)
	r.same, r.other = <-same, <-other
	return r, err
}

// awaitFreed waits until nothing is left that waits to be freed.
func (n *node) awaitFreed() error {
	c, err := net.Dial("tcp", n.addr())
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		if _, err := io.WriteString(c, "INFO memory\r\n"); err != nil {
			return err
		}
		text, err := readBulk(in)
		if err != nil || strings.Contains(text, "\nlazyfree_pending_objects:0\r") {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// readBulk reads a bulk string, "" when there is none.
func readBulk(in *bufio.Reader) (string, error) {
	var n int
	if _, err := fmt.Fscanf(in, "$%d\r\n", &n); err != nil || n < 0 {
		return "", err
	}
	text := make([]byte, n+2)
	_, err := io.ReadFull(in, text)
	return string(text), err
}
