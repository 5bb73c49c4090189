package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// This file holds the commands that touch very many elements at once: what they cost beside redis-server, and how long a
// client of another key waits meanwhile. The cost is processor time, which a busy machine does not blur; the wait is time
// that passes.

const longElements = 1_000_000

// long is a command on big keys.
type long struct {
	name string
	fill func(p *pipe, n int)
	cmd  func(n int) []any
}

func words(format string) func(n int) []any {
	return func(n int) []any {
		var list []any
		for _, w := range strings.Fields(format) {
			switch w {
			case "N":
				w = strconv.Itoa(n)
			case "N/2":
				w = strconv.Itoa(n / 2)
			case "-N":
				w = strconv.Itoa(-n)
			}
			list = append(list, w)
		}
		return list
	}
}

// one fills one key with batches of a command: each element is made of its number.
func one(cmd, key string, elem func(args []any, i int) []any) func(p *pipe, n int) {
	return func(p *pipe, n int) {
		const batch = 100
		for i := 0; i < n; i += batch {
			args := []any{cmd, key}
			for j := i; j < min(i+batch, n); j++ {
				args = elem(args, j)
			}
			p.send(args...)
		}
	}
}

func member(args []any, i int) []any { return append(args, fmt.Sprintf("element:%08d", i)) }

func memberFrom(first int) func([]any, int) []any {
	return func(args []any, i int) []any { return member(args, i+first) }
}

func scored(args []any, i int) []any { return member(append(args, i*7919%longElements), i) }
func sameScore(args []any, i int) []any {
	return member(append(args, 0), i)
}
func field(args []any, i int) []any { return append(member(args, i), "a value of 20 bytes.") }

// both fills two keys, which share half of their elements.
func both(cmd string) func(p *pipe, n int) {
	return func(p *pipe, n int) {
		if cmd == "ZADD" {
			one(cmd, "a{t}", scored)(p, n)
			one(cmd, "b{t}", func(args []any, i int) []any { return scored(args, i+n/2) })(p, n)
			return
		}
		one(cmd, "a{t}", member)(p, n)
		one(cmd, "b{t}", memberFrom(n/2))(p, n)
	}
}

func entries(p *pipe, n int) {
	for i := range n {
		p.send("XADD", "x", fmt.Sprintf("%d-1", i+1), "sensor", fmt.Sprintf("%08d", i), "value", "12.5")
	}
}

func pending(p *pipe, n int) {
	entries(p, n)
	p.send("XGROUP", "CREATE", "x", "g", "0")
	const batch = 1000
	for i := 0; i < n; i += batch {
		p.send("XREADGROUP", "GROUP", "g", fmt.Sprint("c", i/batch%2), "COUNT", batch, "STREAMS", "x", ">")
	}
}

func tenValues(args []any, i int) []any { return append(args, fmt.Sprintf("value:%d", i*7%10)) }

func longCommands() []long {
	list, set, zset := one("RPUSH", "l", member), one("SADD", "s", member), one("ZADD", "z", scored)
	lex := one("ZADD", "z", sameScore)
	hash := one("HSET", "h", field)
	return []long{
		{"LTRIM to 10", list, words("LTRIM l 1000 1009")},
		{"LTRIM to half, tail", list, words("LTRIM l N/2 -1")},
		{"LTRIM to half, head", list, words("LTRIM l 0 N/2")},
		{"LPOP half", list, words("LPOP l N/2")},
		{"RPOP half", list, words("RPOP l N/2")},
		{"LREM a tenth", one("RPUSH", "l", tenValues), words("LREM l 0 value:3")},
		{"LREM a tenth from the end", one("RPUSH", "l", tenValues), words("LREM l -N value:3")},
		{"LREM none", list, words("LREM l 0 nothing")},
		{"LINSERT at the end", list, words("LINSERT l BEFORE nothing x")},
		{"DEL list", list, words("DEL l")},
		{"SPOP half", set, words("SPOP s N/2")},
		{"SPOP all but 1000", set, func(n int) []any { return []any{"SPOP", "s", n - 1000} }},
		{"SINTERSTORE", both("SADD"), words("SINTERSTORE c{t} a{t} b{t}")},
		{"SUNIONSTORE", both("SADD"), words("SUNIONSTORE c{t} a{t} b{t}")},
		{"SDIFFSTORE", both("SADD"), words("SDIFFSTORE c{t} a{t} b{t}")},
		{"DEL set", set, words("DEL s")},
		{"ZPOPMIN half", zset, words("ZPOPMIN z N/2")},
		{"ZPOPMAX half", zset, words("ZPOPMAX z N/2")},
		{"ZREMRANGEBYRANK half", zset, words("ZREMRANGEBYRANK z 0 N/2")},
		{"ZREMRANGEBYSCORE half", zset, words("ZREMRANGEBYSCORE z -inf N/2")},
		{"ZREMRANGEBYLEX half", lex, words("ZREMRANGEBYLEX z - [element:5")},
		{"ZREMRANGEBYRANK all", zset, words("ZREMRANGEBYRANK z 0 -1")},
		{"ZUNIONSTORE", both("ZADD"), words("ZUNIONSTORE c{t} 2 a{t} b{t}")},
		{"ZINTERSTORE", both("ZADD"), words("ZINTERSTORE c{t} 2 a{t} b{t}")},
		{"ZDIFFSTORE", both("ZADD"), words("ZDIFFSTORE c{t} 2 a{t} b{t}")},
		{"ZRANGESTORE half", zset, words("ZRANGESTORE z2{t} z 0 N/2")},
		{"DEL zset", zset, words("DEL z")},
		{"DEL hash", hash, words("DEL h")},
		{"UNLINK hash", hash, words("UNLINK h")},
		{"SET over hash", hash, words("SET h x")},
		{"XTRIM to half", entries, words("XTRIM x MAXLEN N/2")},
		{"XTRIM to half, about", entries, words("XTRIM x MAXLEN ~ N/2 LIMIT 0")},
		{"XTRIM by ID", entries, words("XTRIM x MINID N/2")},
		{"XTRIM to nothing", entries, words("XTRIM x MAXLEN 0")},
		{"XADD with MAXLEN 10", entries, words("XADD x MAXLEN 10 * a b")},
		{"XGROUP DESTROY", pending, words("XGROUP DESTROY x g")},
		{"XGROUP DELCONSUMER", pending, words("XGROUP DELCONSUMER x g c0")},
		{"DEL stream", pending, words("DEL x")},
	}
}

// longTable prints what the commands cost.
func longTable(ours, theirs *node, match *regexp.Regexp, scale int) error {
	n := longElements / scale
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%d elements\tcovey CPU ms\tredis CPU ms\tratio\tcovey later\tredis later\tcovey worst GET ms\tredis worst GET ms\t\n", n)
	for _, c := range longCommands() {
		if !match.MatchString(c.name) {
			continue
		}
		var cpu, later, wait [2]time.Duration
		for i, server := range []*node{ours, theirs} {
			var err error
			if cpu[i], later[i], wait[i], err = server.long(c, n); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", c.name, cpu[0].Seconds()*1e3, cpu[1].Seconds()*1e3,
			cpu[0].Seconds()/cpu[1].Seconds(), later[0].Seconds()*1e3, later[1].Seconds()*1e3, wait[0].Seconds()*1e3, wait[1].Seconds()*1e3)
		w.Flush()
	}
	return nil
}

// long runs one command on keys that it makes: what it costs until its reply is there, and later, when what it has removed
// is freed.
func (n *node) long(c long, elements int) (cpu, later, wait time.Duration, err error) {
	err = n.send(func(p *pipe) {
		p.send("FLUSHALL", "SYNC")
		p.send("SET", "other", rand.Int())
		c.fill(p, elements)
	})
	if err != nil {
		return 0, 0, 0, err
	}
	chores := n.idle()
	stop := make(chan struct{})
	waited := n.watch("other", longGap, stop)
	begin := n.processor()
	err = n.ask(c.cmd(elements)...)
	cpu = n.processor() - begin
	close(stop)
	wait = <-waited
	for err == nil { // what is freed later is part of the price
		begin := n.processor()
		time.Sleep(idleStep)
		more := n.processor() - begin
		if more < 2*chores {
			return cpu, later, wait, nil
		}
		later += more - chores
	}
	return cpu, later, wait, err
}

// watch asks for a key again and again, with gaps, and sends the longest wait in the end, -1 when the connection broke.
func (n *node) watch(key string, gap time.Duration, stop chan struct{}) <-chan time.Duration {
	longest := make(chan time.Duration, 1)
	go func() {
		var worst time.Duration
		c, err := net.Dial("tcp", n.addr())
		if err != nil {
			longest <- -1
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for {
			select {
			case <-stop:
				longest <- worst
				return
			case <-time.After(gap):
			}
			start := time.Now()
			if _, err = fmt.Fprintf(c, "GET %s\r\n", key); err == nil {
				err = skipReply(in)
			}
			if err != nil {
				longest <- -1
				return
			}
			worst = max(worst, time.Since(start))
		}
	}()
	return longest
}

// longGap is between two questions of the client that waits: not so often that it counts.
const longGap = 5 * time.Millisecond

// idleStep is how long a server is looked at to see what it does of itself.
const idleStep = 250 * time.Millisecond

// idle is what a server spends in a while with nothing to do, once it has nothing to do.
func (n *node) idle() (spent time.Duration) {
	const tries, chores = 50, 2 * time.Millisecond
	for range tries {
		before := n.processor()
		time.Sleep(idleStep)
		if spent = n.processor() - before; spent < chores {
			break
		}
	}
	return spent
}

// processor is the CPU time of all threads that the process has or had, to the nanosecond.
func (n *node) processor() time.Duration {
	const ofProcess = 2 // the clock of a process that counts what its scheduler does
	return clockTime(int32(^n.cmd.Process.Pid)<<3 | ofProcess)
}
