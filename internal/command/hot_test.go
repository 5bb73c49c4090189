package command

import (
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/testkit"
)

// hotPath is a command of a path that must not allocate, with what has to be done before.
type hotPath struct {
	name    string
	cluster bool
	before  []string
	args    []string
}

var hotPaths = []hotPath{
	{"get", false, []string{"SET key:000000000001 abcdefghijklmnopqrstuvwxyz012345"}, []string{"GET", "key:000000000001"}},
	{"get a number", false, []string{"SET key:000000000001 12345"}, []string{"GET", "key:000000000001"}},
	{"get of nothing", false, nil, []string{"GET", "key:000000000001"}},
	{"set", false, nil, []string{"SET", "key:000000000001", "abcdefghijklmnopqrstuvwxyz012345"}},
	{"set with expiry", false, nil, []string{"SET", "key:000000000001", "abcdefghijklmnopqrstuvwxyz012345", "EX", "100"}},
	{"incr", false, nil, []string{"INCR", "counter"}},
	{"setbit", false, []string{"SETBIT bits 1000000 1"}, []string{"SETBIT", "bits", "500000", "1"}},
	{"getbit", false, []string{"SETBIT bits 1000000 1"}, []string{"GETBIT", "bits", "500000"}},
	{"bitcount of 1 MiB", false, []string{"SETBIT bits 8388607 1"}, []string{"BITCOUNT", "bits"}},
	{"bitfield", false, []string{"SETBIT bits 1000000 1"}, []string{"BITFIELD", "bits", "INCRBY", "u20", "#5", "1", "GET", "u20", "#5"}},
	{"bitop", false, []string{"SETBIT b1 8000 1", "SETBIT b2 8000 1", "SETBIT b3 8000 1"}, []string{"BITOP", "AND", "b3", "b1", "b2"}},
	{"pfadd", false, []string{"PFADD hll a b c", "PFDEBUG TODENSE hll"}, []string{"PFADD", "hll", "d"}},
	{"pfadd to a sparse one", false, []string{"PFADD hll a b c"}, []string{"PFADD", "hll", "a"}},
	{"pfcount of what is known", false, []string{"PFADD hll a b c", "PFCOUNT hll"}, []string{"PFCOUNT", "hll"}},
	{"pfcount of two", false, []string{"PFADD hll a b c", "PFADD hll2 d"}, []string{"PFCOUNT", "hll", "hll2"}},
	{"rpush and lpop", false, []string{"RPUSH l 1 2 3"}, []string{"RPOPLPUSH", "l", "l"}},
	{"rpush", false, []string{"RPUSH l a"}, []string{"RPUSH", "l", "xxx"}},
	{"lpush", false, []string{"RPUSH l a"}, []string{"LPUSH", "l", "xxx"}},
	{"lpop", false, []string{"RPUSH l " + strings.Repeat("element ", 3000)}, []string{"LPOP", "l"}},
	{"rpop", false, []string{"RPUSH l " + strings.Repeat("element ", 3000)}, []string{"RPOP", "l"}},
	{"lrange", false, []string{"RPUSH l a b c d e f g h i j"}, []string{"LRANGE", "l", "0", "-1"}},
	{"xadd", false, nil, []string{"XADD", "s", "*", "field", "value"}},
	{"xadd and trim", false, nil, []string{"XADD", "s", "MAXLEN", "~", "1000", "*", "field", "value"}},
	{"xread", false, []string{"XADD s 1 a 1", "XADD s 2 a 2"}, []string{"XREAD", "STREAMS", "s", "1"}},
	{"get in a cluster", true, []string{"SET foo bar"}, []string{"GET", "foo"}},
	{"moved", true, nil, []string{"GET", "bar"}},
	{"eval", false, nil, []string{"EVAL", "return redis.call('set', KEYS[1], ARGV[1])", "1", "key:000000000001", "v"}},
	{"eval without keys", false, nil, []string{"EVAL", "return 1", "0"}},
	{"ping", false, nil, []string{"PING"}},
}

// newHot prepares a path; run executes its command once.
func newHot(t testing.TB, p hotPath) (run func()) {
	h := newHarnessWith(t, harnessOptions{cluster: p.cluster})
	if p.cluster {
		h.serveAllSlots()
		h.e.Routes.SetEndpoints([]engine.Endpoint{{Plain: "127.0.0.1:7000"}, {Plain: "127.0.0.1:7001"}})
		h.route("bar", engine.Route{Owner: 1, Other: engine.NoNode})
	}
	h.e.LockAll()
	h.e.Log.Stop() // blocks of history are made as it grows
	h.e.UnlockAll()
	for _, line := range p.before {
		h.do(line)
	}
	words := make([][]byte, len(p.args))
	for i, a := range p.args {
		words[i] = []byte(a)
	}
	in := resp.AppendCommand(nil, words...)
	return func() {
		h.s.Process(h.w, in)
		h.w.Out.Reset()
	}
}

func TestHotPathsAllocateNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates beside the command")
	}
	for _, p := range hotPaths {
		t.Run(p.name, func(t *testing.T) {
			if n := testing.AllocsPerRun(1000, newHot(t, p)); n != 0 {
				t.Errorf("%v allocations a command", n)
			}
		})
	}
}

func BenchmarkProcess(b *testing.B) {
	for _, p := range hotPaths {
		b.Run(p.name, func(b *testing.B) {
			run := newHot(b, p)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
