package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	scriptTime    = 40 * time.Millisecond // how long the script runs that others shall not notice
	isolationTime = 10 * time.Second
	fastKey       = "another" // its slot is in another shard than that of slowKey
	slowKey       = "script"
)

// isolation measures GET on one connection while a script of 40 ms is run again and again on another, on a key of another
// shard. Covey has two event loops once and one the other time. The servers are measured in turn; printed are medians.
func isolation(binary, dir string, rounds, scale int) error {
	fmt.Printf("\nGET of another key while a script of %v loops, medians of %d rounds\n", scriptTime, rounds)
	servers := []struct {
		name  string
		words []string
		found []delays
	}{
		{name: "covey-two-loops", words: []string{binary, "server", "--io-threads", "2"}},
		{name: "covey-one-loop", words: []string{binary, "server", "--io-threads", "1"}},
		{name: "redis-scripted", words: []string{"redis-server"}},
	}
	for round := range rounds {
		for i := range servers {
			s := &servers[i]
			n, err := start(fmt.Sprint(s.name, "-", round), dir, s.words...)
			if err != nil {
				return err
			}
			d, err := n.duringScripts(isolationTime / time.Duration(scale))
			n.stop()
			if err != nil {
				return err
			}
			s.found = append(s.found, d)
		}
	}
	for _, s := range servers {
		fmt.Printf("%-16s", s.name)
		for _, figure := range figures {
			var all []float64
			for i := range s.found {
				all = append(all, figure.of(&s.found[i]))
			}
			fmt.Printf(" "+figure.format, median(all))
		}
		fmt.Println()
	}
	return nil
}

// delays is what one server made a client wait.
type delays struct {
	alone, list []time.Duration // sorted; alone is without scripts: what the machine does to the client
	scripts     int
	during      time.Duration
}

// figures are what is printed of delays.
var figures = []struct {
	format string
	of     func(d *delays) float64
}{
	{"p50 %6.3f ms,", func(d *delays) float64 { return millis(d.list, 0.5) }},
	{"p99 %6.2f ms,", func(d *delays) float64 { return millis(d.list, 0.99) }},
	{"p99.9 %6.2f ms,", func(d *delays) float64 { return millis(d.list, 0.999) }},
	{"worst %6.2f ms", func(d *delays) float64 { return millis(d.list, 1) }},
	{"(%.0f GETs,", func(d *delays) float64 { return float64(len(d.list)) }},
	{"scripts of %.0f ms);", func(d *delays) float64 { return d.during.Seconds() * 1e3 / float64(max(d.scripts, 1)) }},
	{"alone p99.9 %.2f ms,", func(d *delays) float64 { return millis(d.alone, 0.999) }},
	{"worst %.2f ms", func(d *delays) float64 { return millis(d.alone, 1) }},
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

func (n *node) duringScripts(during time.Duration) (d delays, err error) {
	slow, err := n.link()
	if err != nil {
		return d, err
	}
	defer slow.conn.Close()
	fast, err := n.link()
	if err != nil {
		return d, err
	}
	defer fast.conn.Close()
	times, err := slow.calibrate()
	if err != nil {
		return d, err
	}
	if err := fast.ask(1, "SET", fastKey, "v"); err != nil {
		return d, err
	}
	d.during = during
	if d.alone, err = fast.latencies(during / 4); err != nil {
		return d, err
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
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
			d.scripts++
		}
	}()
	list, err := fast.latencies(during)
	close(stop)
	if err := <-ended; err != nil {
		return d, err
	}
	d.list = list
	return d, err
}

// millis is what a share of the sorted times stay below.
func millis(list []time.Duration, share float64) float64 {
	return list[int(share*float64(len(list)-1))].Seconds() * 1e3
}

// latencies asks for a key again and again and returns how long it took, sorted. It has a thread of its own and waits in the
// system's read, so that the scheduler and the collector of this process are no part of what it measures.
func (l *link) latencies(during time.Duration) (list []time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	file, err := l.conn.(*net.TCPConn).File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fd := int(file.Fd())
	if err := unix.SetNonblock(fd, false); err != nil {
		return nil, err
	}
	defer unix.SetNonblock(fd, true) // the connection has the same flags
	const request, lines, expected = "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", 2, 30e3
	ask, reply := fmt.Appendf(nil, request, len(fastKey), fastKey), make([]byte, 256)
	list = make([]time.Duration, 0, int(during.Seconds()*expected))
	for end := time.Now().Add(during); time.Now().Before(end); {
		began := time.Now()
		if _, err := unix.Write(fd, ask); err != nil {
			return nil, err
		}
		for got := 0; bytes.Count(reply[:got], []byte("\n")) < lines; {
			n, err := unix.Read(fd, reply[got:])
			if err != nil && err != unix.EINTR {
				return nil, err
			}
			if n == 0 {
				return nil, io.ErrUnexpectedEOF
			}
			got += max(n, 0)
		}
		list = append(list, time.Since(began))
	}
	slices.Sort(list)
	return list, nil
}
