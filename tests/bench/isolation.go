package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	scriptTime    = 40 * time.Millisecond // how long the script runs that others shall not notice
	isolationTime = 10 * time.Second
	fastKey       = "another" // its slot is in another shard than that of slowKey
	slowKey       = "script"
)

// isolation measures GET on one connection while a script of 40 ms is run again and again on another, on a key of another
// shard. Covey has two event loops once and one the other time.
func isolation(binary, dir string, scale int) error {
	fmt.Printf("\nGET of another key while a script of %v loops\n", scriptTime)
	for _, server := range []struct {
		name  string
		words []string
	}{
		{"covey-two-loops", []string{binary, "server", "--io-threads", "2"}},
		{"covey-one-loop", []string{binary, "server", "--io-threads", "1"}},
		{"redis-scripted", []string{"redis-server"}},
	} {
		n, err := start(server.name, dir, server.words...)
		if err != nil {
			return err
		}
		err = n.duringScripts(isolationTime / time.Duration(scale))
		n.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// link is a connection that waits for each reply.
type link struct {
	conn net.Conn
	in   *bufio.Reader
}

func (n *node) link() (*link, error) {
	c, err := net.Dial("tcp", n.addr())
	if err != nil {
		return nil, err
	}
	return &link{c, bufio.NewReader(c)}, nil
}

// ask sends a command and reads a reply of so many lines.
func (l *link) ask(lines int, words ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(l.conn, b.String()); err != nil {
		return err
	}
	for range lines {
		line, err := l.in.ReadString('\n')
		if err != nil {
			return err
		}
		if line[0] == '-' {
			return fmt.Errorf("%s: %s", words[0], line)
		}
	}
	return nil
}

// spin is a script that does nothing so many times.
func (l *link) spin(times int) error {
	return l.ask(1, "EVAL", "for i=1,tonumber(ARGV[1]) do end return 1", "1", slowKey, strconv.Itoa(times))
}

// calibrate finds how many times make the script last as long as it shall: by the fastest of several runs, as what else
// runs on the machine only makes it slower.
func (l *link) calibrate() (times int, err error) {
	const runs = 5
	for times = 10_000; ; times *= 2 {
		best := time.Duration(0)
		for range runs {
			began := time.Now()
			if err := l.spin(times); err != nil {
				return 0, err
			}
			if took := time.Since(began); best == 0 || took < best {
				best = took
			}
		}
		if best >= scriptTime/4 {
			return int(float64(times) * scriptTime.Seconds() / best.Seconds()), nil
		}
	}
}

func (n *node) duringScripts(during time.Duration) error {
	slow, err := n.link()
	if err != nil {
		return err
	}
	defer slow.conn.Close()
	fast, err := n.link()
	if err != nil {
		return err
	}
	defer fast.conn.Close()
	times, err := slow.calibrate()
	if err != nil {
		return err
	}
	if err := fast.ask(1, "SET", fastKey, "v"); err != nil {
		return err
	}
	alone, err := fast.latencies(during / 4) // what the machine does to it without any script
	if err != nil {
		return err
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	scripts := 0
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := slow.spin(times); err != nil {
				ended <- err
				return
			}
			scripts++
		}
	}()
	list, err := fast.latencies(during)
	close(stop)
	if err := <-ended; err != nil {
		return err
	}
	if err != nil {
		return err
	}
	fmt.Printf("%-16s p50 %6.3f ms, p99 %6.2f ms, p99.9 %6.2f ms, worst %6.2f ms (%d GETs, %d scripts of %.0f ms); alone p99.9 %.2f ms, worst %.2f ms\n",
		n.name, millis(list, 0.5), millis(list, 0.99), millis(list, 0.999), millis(list, 1), len(list), scripts,
		during.Seconds()*1e3/float64(max(scripts, 1)), millis(alone, 0.999), millis(alone, 1))
	return nil
}

// millis is what a share of the sorted times stay below.
func millis(list []time.Duration, share float64) float64 {
	return list[int(share*float64(len(list)-1))].Seconds() * 1e3
}

// latencies asks for a key again and again and returns how long it took, sorted.
func (l *link) latencies(during time.Duration) (list []time.Duration, err error) {
	for end := time.Now().Add(during); time.Now().Before(end); {
		began := time.Now()
		if err := l.ask(2, "GET", fastKey); err != nil {
			return nil, err
		}
		list = append(list, time.Since(began))
	}
	slices.Sort(list)
	return list, nil
}
