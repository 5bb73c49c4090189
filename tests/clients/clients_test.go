package clients

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

const (
	stepWithin   = testkit.Patience     // what one step of a client may take
	scriptWithin = 5 * testkit.Patience // what the script of a client may take
)

// place is where a client is run: one node, or a cluster of three primaries and three replicas.
type place struct {
	*testkit.Topology
	cluster   bool
	authority *testkit.Authority // everything goes over TLS; nil: in the clear
}

// tls is what a client needs to connect, nil where it needs nothing.
func (p place) tls(t testing.TB) *tls.Config {
	t.Helper()
	if p.authority == nil {
		return nil
	}
	return p.authority.Client(t, "node")
}

func (p place) addresses() []string {
	var all []string
	for _, node := range p.primaries() {
		all = append(all, node.Addr())
	}
	return all
}

func (p place) primaries() []*testkit.Server {
	if p.cluster {
		return p.Nodes[:3]
	}
	return p.Nodes[:1]
}

// awaitBlocked waits until a client is blocked at one of the nodes.
func (p place) awaitBlocked(t testing.TB) {
	t.Helper()
	testkit.Eventually(t, stepWithin, func() error {
		for _, node := range p.primaries() {
			info, err := node.TryInfo("clients")
			if err != nil {
				return err
			}
			if info["blocked_clients"] != "0" {
				return nil
			}
		}
		return fmt.Errorf("no client is blocked")
	})
}

// library is the source of a library of functions: <name>_put and <name>_get.
func library(name string) string {
	return fmt.Sprintf(`#!lua name=%[1]s
redis.register_function('%[1]s_put', function(keys, args) return redis.call('SET', keys[1], args[1]) end)
redis.register_function{function_name='%[1]s_get',
  callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes'}}`, name)
}

// startPlace starts the servers of a place.
func startPlace(t testing.TB, cluster, secure bool) place {
	t.Helper()
	p := place{cluster: cluster}
	if secure {
		p.authority = testkit.NewAuthority(t)
	}
	if cluster {
		p.Topology = testkit.StartCluster(t, testkit.ClusterOptions{Primaries: 3, Replicas: []int{0, 1, 2}, TLS: p.authority})
	} else {
		p.Topology = &testkit.Topology{Nodes: []*testkit.Server{testkit.Start(t, testkit.Options{TLS: p.authority})}}
	}
	return p
}

// TestClients runs each client in every place. The clients of one place take turns, so that a client that is blocked is the
// one that is looked for.
func TestClients(t *testing.T) {
	for name, o := range map[string]struct{ cluster, secure bool }{
		"single": {}, "cluster": {cluster: true}, "single over TLS": {secure: true}, "cluster over TLS": {cluster: true, secure: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPlace(t, o.cluster, o.secure)
			t.Run("go-redis", func(t *testing.T) { testGoRedis(t, p) })
			t.Run("rueidis", func(t *testing.T) { testRueidis(t, p) })
			t.Run("redigo", func(t *testing.T) { testRedigo(t, p) })
			t.Run("python-redis", func(t *testing.T) { runPython(t, p) })
			if !hasNode() {
				t.Log("NOTICE: the JavaScript clients are not tested: make clients installs them")
				return
			}
			for _, script := range []string{"ioredis", "node-redis", "bullmq"} {
				t.Run(script, func(t *testing.T) { runNode(t, p, script) })
			}
		})
	}
}

// runPython runs the script with the interpreter of the system, whose packages Debian's are.
func runPython(t *testing.T, p place) {
	const interpreter = "/usr/bin/python3"
	python := testkit.Need(t, interpreter)
	if exec.Command(python, "-c", "import redis").Run() != nil {
		testkit.Missing(t, "python3-redis is not installed")
	}
	runScript(t, p, python, "testdata/python-redis.py")
}

// hasNode says whether the JavaScript clients are to be tested: make clients asks for it, and where it has run they are there.
func hasNode() bool {
	_, err := os.Stat("node_modules/bullmq")
	return err == nil || os.Getenv("COVEY_CLIENTS") == "all"
}

func runNode(t *testing.T, p place, name string) {
	node := testkit.Need(t, "node")
	if _, err := os.Stat("node_modules/bullmq"); err != nil {
		testkit.Missing(t, "the packages of package.json are not installed (scripts/setup.sh --all does it)")
	}
	runScript(t, p, node, "testdata/"+name+".mjs")
}

// runScript runs the script of a client: it is told the place and the ports, and fails with a status that is not 0.
func runScript(t *testing.T, p place, program string, args ...string) {
	t.Helper()
	args = append(args, map[bool]string{false: "single", true: "cluster"}[p.cluster])
	for _, node := range p.primaries() {
		args = append(args, strconv.Itoa(node.Port))
	}
	ctx, cancel := context.WithTimeout(t.Context(), scriptWithin)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	if p.authority != nil {
		command.Env = append(os.Environ(), "TLS_CERT="+p.authority.Path("node.crt"), "TLS_KEY="+p.authority.Path("node.key"),
			"TLS_CA="+p.authority.Path("ca.crt"))
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want compares a result with what is expected, by how they print.
func want[T any](t testing.TB, expected string) func(got T, err error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("error %v, want %s", err, expected)
		}
		if text := fmt.Sprint(got); text != expected {
			t.Fatalf("got %s, want %s", text, expected)
		}
	}
}
