package clients

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// fill gives a node data of every type.
func fill(t testing.TB, node *testkit.Server) {
	t.Helper()
	c := node.Dial(t)
	for i := range 300 {
		c.OK(t, "SET", fmt.Sprint("key:", i), "v")
	}
	c.OK(t, "SET", "string", strings.Repeat("x", 5000), "EX", "1000")
	c.OK(t, "HSET", "hash", "a", "1", "b", "2", "c", "3")
	c.OK(t, "RPUSH", "list", "1", "2", "3", "4")
	c.OK(t, "SADD", "set", "1", "2", "3", "4", "5")
	c.OK(t, "ZADD", "zset", "1", "a", "2", "b")
	c.OK(t, "XADD", "stream", "1-1", "f", "v")
	c.OK(t, "XGROUP", "CREATE", "stream", "group", "0")
	c.OK(t, "XREADGROUP", "GROUP", "group", "me", "STREAMS", "stream", ">")
	c.OK(t, "FUNCTION", "LOAD", library("toollib"))
}

// run runs a program that must end with status 0, and returns what it prints.
func run(t testing.TB, stdin, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scriptWithin)
	defer cancel()
	command := exec.CommandContext(ctx, testkit.Need(t, program), args...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// contains ends the test if the text lacks one of the patterns.
func contains(t testing.TB, text string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Fatalf("no %q in:\n%s", pattern, text)
		}
	}
}

// cliCases are what redis-cli can do with a node that was filled: arguments, standard input, and what is printed.
func cliCases() map[string]cliCase {
	return map[string]cliCase{
		"bigkeys": {"--bigkeys", "", []string{
			`Biggest string found '"string"' has 5000 bytes`, `Biggest +list found '"list"' has 4 items`,
			`Biggest +hash found '"hash"' has 3 fields`, `Biggest +set found '"set"' has 5 members`,
			`Biggest +zset found '"zset"' has 2 members`, `Biggest stream found '"stream"' has 1 entries`,
			`Sampled 306 keys in the keyspace!`,
		}},
		"memkeys":   {"--memkeys", "", []string{`Biggest string found '"string"' has [5-9]\d{3} bytes`, `Sampled 306 keys`}},
		"latency":   {"--latency -i 0.2", "", []string{`^\d+ \d+ \d+\.\d+ \d+`}},
		"scan":      {"--scan --pattern key:29?", "", []string{`(?s)^(key:29\d\n){10}$`}},
		"resp3":     {"-3 --no-raw HGETALL hash", "", []string{`(?s)1# "a" => "1"\n2# "b" => "2"\n3# "c" => "3"`}},
		"json":      {"--json HGETALL hash", "", []string{`^\{"a":"1","b":"2","c":"3"\}`}},
		"csv":       {"--csv LRANGE list 0 -1", "", []string{`^"1","2","3","4"`}},
		"lolwut":    {"LOLWUT", "", []string{`Redis ver\. \d+\.\d+\.\d+`}},
		"lolwut 5":  {"LOLWUT VERSION 5", "", []string{`Redis ver\. \d+\.\d+\.\d+`}},
		"repeat":    {"-r 3 INCRBYFLOAT repeated 0.5", "", []string{`^0\.5\n1\n1\.5\n$`}},
		"stdin":     {"-x SET stdin", "from a pipe", []string{`^OK\n$`}},
		"script":    {"", "SET piped 1\nINCR piped\nNOSUCH\nGET piped\n", []string{`^OK\n2\nERR unknown command 'NOSUCH'.*\n+2\n`}},
		"pipe":      {"--pipe", strings.Repeat("SET pipe v\r\n*2\r\n$3\r\nGET\r\n$4\r\npipe\r\n", 500), []string{`errors: 0, replies: 1000`}},
		"pipe bad":  {"--pipe", "SET pipe v\r\nLPUSH pipe v\r\n", nil},
		"intrinsic": {"--intrinsic-latency 1", "", []string{`total runs`}},
	}
}

type cliCase struct {
	args, stdin string
	prints      []string // patterns; none: the program reports an error
}

func TestRedisCLI(t *testing.T) {
	t.Parallel()
	node := testkit.Start(t, testkit.Options{})
	fill(t, node)
	at := []string{"-p", strconv.Itoa(node.Port)}
	for _, read := range []string{"bigkeys", "memkeys", "scan"} { // before the others add keys
		c := cliCases()[read]
		contains(t, run(t, c.stdin, "redis-cli", append(at, strings.Fields(c.args)...)...), c.prints...)
	}
	for name, c := range cliCases() {
		if name == "bigkeys" || name == "memkeys" || name == "scan" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.prints == nil {
				cliFails(t, c, at)
				return
			}
			contains(t, run(t, c.stdin, "redis-cli", append(at, strings.Fields(c.args)...)...), c.prints...)
		})
	}
}

func cliFails(t *testing.T, c cliCase, at []string) {
	t.Helper()
	command := exec.Command(testkit.Need(t, "redis-cli"), append(at, strings.Fields(c.args)...)...)
	command.Stdin = strings.NewReader(c.stdin)
	out, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("status 0:\n%s", out)
	}
	contains(t, string(out), `errors: 1, replies: 2`, `WRONGTYPE`)
}

func TestRedisCLIHotKeys(t *testing.T) {
	t.Parallel()
	node := testkit.Start(t, testkit.Options{Conf: []string{"maxmemory-policy allkeys-lfu"}})
	fill(t, node)
	c := node.Dial(t)
	for range 500 {
		c.OK(t, "GET", "key:7")
	}
	out := run(t, "", "redis-cli", "-p", strconv.Itoa(node.Port), "--hotkeys")
	contains(t, out, `(?s)summary.*hot key found with counter: \d+\tkeyname: "key:7"`)
}

// TestRedisCLIStat reads the first lines; through a pipe, redis-cli prints them at once only if stdbuf tells it to.
func TestRedisCLIStat(t *testing.T) {
	t.Parallel()
	node := testkit.Start(t, testkit.Options{})
	fill(t, node)
	ctx, cancel := context.WithTimeout(t.Context(), stepWithin)
	defer cancel()
	command := exec.CommandContext(ctx, testkit.Need(t, "stdbuf"), "-oL", testkit.Need(t, "redis-cli"),
		"-p", strconv.Itoa(node.Port), "--stat", "-i", "0.1")
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	lines := bufio.NewScanner(out)
	numbers := regexp.MustCompile(`^306 +\d+\.\d+[KM] +\d+ +\d+ +\d+ \(\+\d+\) +\d+`) // keys, memory, clients, blocked, requests, connections
	for found := 0; found < 3; {
		if !lines.Scan() {
			t.Fatal("--stat ended")
		}
		if numbers.MatchString(lines.Text()) {
			found++
		}
	}
	cancel()
	_ = command.Wait() // it was killed
}

// TestRedisCLIFetchesRDB takes a snapshot from a primary and from its replica, and one of the functions alone.
func TestRedisCLIFetchesRDB(t *testing.T) {
	t.Parallel()
	pair := testkit.StartTopology(t, "R2")
	fill(t, pair.Nodes[0])
	for _, node := range pair.Nodes {
		testkit.Eventually(t, stepWithin, func() error {
			v, err := node.Try("FCALL_RO", "toollib_get", "1", "key:1")
			if err == nil && v.Text != "v" {
				err = fmt.Errorf("the last write has not arrived")
			}
			return err
		})
		node.Want(t, "+OK", "CONFIG", "SET", "rdbcompression", "no")
	}
	for option, keys := range map[string]string{"--rdb": "306", "--functions-rdb": "0"} {
		for i, node := range pair.Nodes {
			file := node.Path("fetched" + option)
			run(t, "", "redis-cli", "-p", strconv.Itoa(node.Port), option, file)
			out := run(t, "", "redis-check-rdb", file)
			contains(t, out, `RDB looks OK`, `\] `+keys+` keys read`)
			if text := node.ReadFile(t, "fetched"+option); !strings.Contains(text, "toollib_put") {
				t.Fatalf("node %d: %s: no functions in the file", i, option)
			}
		}
	}
	for _, node := range pair.Nodes {
		testkit.Eventually(t, stepWithin, func() error { // redis-cli was no replica
			info, err := node.TryInfo("replication")
			if want := map[string]string{"master": "1", "slave": "0"}[info["role"]]; err == nil && info["connected_slaves"] != want {
				err = fmt.Errorf("%s replicas", info["connected_slaves"])
			}
			return err
		})
	}
}

// TestRedisBenchmark runs all default tests of redis-benchmark, with and without pipelining, on one node and on a cluster.
func TestRedisBenchmark(t *testing.T) {
	t.Parallel()
	names := []string{
		"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "LPUSH", "RPUSH", "LPOP", "RPOP", "SADD", "HSET", "SPOP", "ZADD",
		"ZPOPMIN", "LPUSH (needed to benchmark LRANGE)", "LRANGE_100 (first 100 elements)", "LRANGE_300 (first 300 elements)",
		"LRANGE_500 (first 500 elements)", "LRANGE_600 (first 600 elements)", "MSET (10 keys)",
	}
	for topology, args := range map[string][]string{"single": nil, "C3": {"--cluster"}} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			node := testkit.StartTopology(t, topology).Nodes[0]
			for _, more := range [][]string{{"-n", "200", "-c", "10"}, {"-n", "640", "-c", "4", "-P", "16", "-r", "1000", "--threads", "2"}} {
				all := append(append([]string{"-p", strconv.Itoa(node.Port), "-q"}, args...), more...)
				out := run(t, "", "redis-benchmark", all...)
				for _, name := range names {
					contains(t, out, regexp.QuoteMeta(name)+`: \d+\.\d+ requests per second`)
				}
				if regexp.MustCompile(`(?i)error|warning`).MatchString(out) {
					t.Fatalf("%s", out)
				}
			}
		})
	}
}
