// Command bench measures covey beside redis-server in one run on this machine and prints ratios: CPU a request, throughput,
// resident bytes a key, and what a slow command does to others. Absolute figures of a shared machine say little; the pairs
// are taken in turn, so that a drift of the machine's speed meets both.
package main

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "a tenth of the requests")
	rounds := flag.Int("rounds", 3, "pairs of runs for each figure; the median ratio is printed")
	covey := flag.String("covey", "bin/covey", "the binary to measure")
	only := flag.String("only", "", "throughput, suite, sessions, commands, memory, shapes, long, stalls, drops, stall or isolation; empty for all")
	match := flag.String("match", "", "of suite, commands, shapes, long, stalls and drops only those whose name matches; names of suite end in \", pipeline 16\"")
	flag.Parse()
	if err := run(*covey, *rounds, *quick, *only, *match); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(binary string, rounds int, quick bool, only, match string) error {
	matching, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "covey-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, err := start("covey", dir, binary, "server")
	if err != nil {
		return err
	}
	defer ours.stop()
	theirs, err := start("redis", dir, "redis-server")
	if err != nil {
		return err
	}
	defer theirs.stop()
	scale := 1
	if quick {
		scale = 10
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"throughput", func() error { return throughput(ours, theirs, rounds, scale) }},
		{"suite", func() error { return suiteTable(ours, theirs, matching, rounds, scale) }},
		{"sessions", func() error { return sessions(ours, theirs, rounds, scale) }},
		{"commands", func() error { return commandTable(ours, theirs, matching, rounds, scale) }},
		{"memory", func() error { return memory(ours, theirs, scale) }},
		{"shapes", func() error { return memoryTable(binary, dir, matching, scale) }},
		{"long", func() error { return longTable(ours, theirs, matching, scale) }},
		{"stalls", func() error { return stallTable(matching, scale) }},
		{"drops", func() error { return dropTable(binary, dir, matching, rounds, scale) }},
		{"stall", func() error { return stall(ours, theirs, scale) }},
		{"isolation", func() error { return isolation(binary, dir, rounds, scale) }},
	}
	for _, s := range steps {
		if only == "" || only == s.name {
			if err := s.do(); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

// node is a server under measurement.
type node struct {
	name string
	port int
	cmd  *exec.Cmd
	dir  string
}

// startWait bounds how long a server may take to answer.
const startWait = 10 * time.Second

func start(name, dir string, words ...string) (*node, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	home := filepath.Join(dir, name)
	if err := os.Mkdir(home, 0o755); err != nil {
		return nil, err
	}
	args := append(words[1:], "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", home, "--save", "", "--logfile", filepath.Join(home, "log"))
	n := &node{name: name, port: port, cmd: exec.Command(words[0], args...), dir: home}
	n.cmd.Stderr = os.Stderr
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(startWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if n.ask("PING") == nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s did not start", name)
}

func (n *node) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)) }

func (n *node) stop() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// clockTicks is the unit of CPU times in /proc: a hundredth of a second on Linux.
const clockTicks = 100

// cpu is the CPU time used so far.
func (n *node) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks
}

// resident is the resident memory in bytes.
func (n *node) resident() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", n.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// sample is one run of a client.
type sample struct {
	perSecond  float64
	cpuMicros  float64 // of the server, a request
	clientBusy float64 // the client's CPU time in parts of the run's time: near 1 the rate is the client's own
}

// redisBenchmark runs redis-benchmark with the name of a test ("-t", "get") or a command of its own.
func (n *node) redisBenchmark(requests, pipeline int, words ...string) (sample, error) {
	before := n.processor()
	args := []string{"-p", strconv.Itoa(n.port), "-n", strconv.Itoa(requests), "-P", strconv.Itoa(pipeline), "-c", "50", "-r", "100000", "-d", "32", "--csv"}
	cmd := exec.Command("redis-benchmark", append(args, words...)...)
	out, err := cmd.Output()
	if err != nil {
		return sample{}, err
	}
	used := n.processor() - before
	client := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		return sample{}, err
	}
	rate, err := strconv.ParseFloat(rows[len(rows)-1][1], 64)
	return sample{rate, float64(used.Nanoseconds()) / 1e3 / float64(requests), client.Seconds() * rate / float64(requests)}, err
}

// pairs are samples of both servers, taken in turn.
type pairs [2][]sample

func (p *pairs) add(server int, s sample) { p[server] = append(p[server], s) }

// pairsHead names the columns of print.
const pairsHead = "   covey req/s    redis req/s   ratio     covey µs   redis µs   ratio   client busy"

// print prints the medians of each, and of the ratios within each pair.
func (p *pairs) print() {
	var rates, costs, busy [2][]float64
	var rateRatios, costRatios []float64
	for i, ours := range p[0] {
		theirs := p[1][i]
		rates[0], rates[1] = append(rates[0], ours.perSecond), append(rates[1], theirs.perSecond)
		costs[0], costs[1] = append(costs[0], ours.cpuMicros), append(costs[1], theirs.cpuMicros)
		busy[0], busy[1] = append(busy[0], ours.clientBusy), append(busy[1], theirs.clientBusy)
		rateRatios = append(rateRatios, ours.perSecond/theirs.perSecond)
		costRatios = append(costRatios, ours.cpuMicros/theirs.cpuMicros)
	}
	fmt.Printf("%14.0f %14.0f %7.2f   %10.2f %10.2f %7.2f     %4.2f %4.2f\n", median(rates[0]), median(rates[1]), median(rateRatios), median(costs[0]),
		median(costs[1]), median(costRatios), median(busy[0]), median(busy[1]))
}

func median(list []float64) float64 {
	sort.Float64s(list)
	return list[len(list)/2]
}

// throughput compares GET and SET at three depths of pipeline.
func throughput(ours, theirs *node, rounds, scale int) error {
	fmt.Printf("%-15s %s\n", "test, pipeline", pairsHead)
	for _, depth := range []struct{ pipeline, requests int }{{1, 300_000}, {16, 3_000_000}, {100, 6_000_000}} {
		for _, test := range []string{"set", "get"} {
			var pairs pairs
			for range rounds {
				for i, n := range []*node{ours, theirs} {
					s, err := n.redisBenchmark(depth.requests/scale, depth.pipeline, "-t", test)
					if err != nil {
						return err
					}
					pairs.add(i, s)
				}
			}
			fmt.Printf("%-5s %-9d ", test, depth.pipeline)
			pairs.print()
		}
	}
	return nil
}
