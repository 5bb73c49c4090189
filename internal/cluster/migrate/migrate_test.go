package migrate_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/covey-db/covey/internal/cluster/migrate"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
	"github.com/covey-db/covey/internal/testkit/reply"
	"github.com/covey-db/covey/internal/transport"
)

// server is a plain node in the test's process.
type server struct {
	e    *engine.Engine
	port string
}

func start(t testing.TB) *server {
	t.Helper()
	var m *migrate.Migrator
	late := map[string]engine.Handler{"migrate": {Run: func(c *engine.Ctx) { m.Handlers()["migrate"].Run(c) }}}
	e := inproc.New(t, inproc.Options{Handlers: late})
	var err error
	if m, err = migrate.New(migrate.Options{Engine: e, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		t.Fatal(err)
	}
	e.LockAll()
	e.Log.Start()
	e.UnlockAll()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	clients := transport.NewGoroutines(e, transport.Options{Logf: t.Logf})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		if err := clients.Serve(door, nil); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		door.Close()
		clients.Close()
		m.Close()
		wg.Wait()
	})
	_, port, _ := net.SplitHostPort(door.Addr().String())
	return &server{e: e, port: port}
}

func (s *server) dial(t testing.TB) *testkit.Client { return testkit.Dial(t, "127.0.0.1:"+s.port) }

func TestKeysGoToAnotherServerAndBack(t *testing.T) {
	s := start(t)
	real := testkit.Start(t, testkit.Options{Binary: testkit.Redis(t)})
	port := strconv.Itoa(real.Port)
	a, b := s.dial(t), real.Dial(t)
	big := strings.Repeat("x\x00y", 100000)
	a.Want(t, "+OK", "SET", "k", "v", "PX", "100000")
	a.Want(t, "+OK", "SET", "n", "-7")
	a.Want(t, "+OK", "SET", "big", big)
	a.Want(t, "+OK", "MIGRATE", "127.0.0.1", port, "k", "0", "30000")
	a.Want(t, ":0", "EXISTS", "k")
	b.Want(t, `"v"`, "GET", "k")
	b.Want(t, "int(>90000)", "PTTL", "k")
	a.Want(t, "+OK", "MIGRATE", "127.0.0.1", port, "", "3", "5000", "KEYS", "n", "none", "big")
	a.Want(t, ":0", "DBSIZE")
	b.Want(t, "+OK", "SELECT", "3")
	b.Want(t, `"-7"`, "GET", "n")
	if v := b.OK(t, "GET", "big"); v.Text != big {
		t.Error("the big value has changed")
	}
	b.Want(t, "+OK", "MIGRATE", "127.0.0.1", s.port, "", "5", "5000", "KEYS", "n", "big")
	a.Want(t, "+OK", "SELECT", "5")
	a.Want(t, `"-7"`, "GET", "n")
	if v := a.OK(t, "GET", "big"); v.Text != big {
		t.Error("the big value has changed on the way back")
	}
}

func TestRepliesAreThoseOfRedis(t *testing.T) {
	s := start(t)
	target := testkit.Start(t, testkit.Options{Binary: testkit.Redis(t)})
	real := testkit.Start(t, testkit.Options{Binary: testkit.Redis(t)})
	port := strconv.Itoa(target.Port)
	mine, its, there := s.dial(t), real.Dial(t), target.Dial(t)
	for _, line := range []string{
		"none 0 1000", "k 0 1000", "k 0 1000", "k x 100", "k 0 x", "k 0 100 KEYS a", "k 0 100 NOSUCH", "k 0 100 AUTH", "k 0 100 AUTH2 x",
		"k 0", "k 99 1000", "k 0 1000 AUTH pw", "k 0 1000 AUTH2 u pw", "k 0 1000 COPY", "k 0 1000 COPY REPLACE", "k 2 -5", "k -1 1000",
	} {
		var got [2]reply.Value
		for i, c := range []*testkit.Client{mine, its} {
			there.OK(t, "FLUSHALL")
			there.OK(t, "SET", "k", "theirs")
			c.OK(t, "SET", "k", "v")
			got[i] = c.Do(t, append([]string{"MIGRATE", "127.0.0.1", port}, strings.Fields(line)...)...)
		}
		if got[0].String() != got[1].String() {
			t.Errorf("MIGRATE %s:\n got %v\nwant %v", line, got[0], got[1])
		}
	}
	target.Kill(t)
	for _, at := range [][2]string{{"127.0.0.1", port}, {"", s.port}, {"127.0.0.1", "http"}, {"127.0.0.1", ""}, {"127.0.0.1", "70000"}} {
		mine.OK(t, "SET", "k", "v")
		its.OK(t, "SET", "k", "v")
		move := []string{"MIGRATE", at[0], at[1], "k", "0", "500"}
		if got, want := mine.Do(t, move...), its.Do(t, move...); got.String() != want.String() {
			t.Errorf("%q:\n got %v\nwant %v", at, got, want)
		}
	}
	mine.Want(t, `"v"`, "GET", "k")
}

// TestACounterUnderLoadMovesExactly moves a counter that is incremented all the time; no acknowledged increment is lost.
func TestACounterUnderLoadMovesExactly(t *testing.T) {
	from, to := start(t), start(t)
	var acked [2]atomic.Int64 // by server
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		c := from.dial(t)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if v, err := c.Try("INCR", "counter"); err != nil || v.Kind != reply.Int {
					t.Errorf("INCR: %v %v", v, err)
					return
				}
				acked[0].Add(1)
			}
		}()
	}
	admin, there := from.dial(t), to.dial(t)
	moved := int64(0)
	for i := range 30 {
		testkit.Eventually(t, testkit.Patience, func() error {
			if v := admin.OK(t, "EXISTS", "counter"); v.Int == 0 {
				return fmt.Errorf("nothing to move in move %d", i)
			}
			return nil
		})
		admin.Want(t, "+OK", "MIGRATE", "127.0.0.1", to.port, "counter", "0", "30000")
		n, err := strconv.ParseInt(there.OK(t, "GET", "counter").Text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		moved += n
		there.Want(t, ":1", "DEL", "counter")
	}
	close(stop)
	wg.Wait()
	if v := admin.Do(t, "GET", "counter"); !v.IsNil() {
		n, _ := strconv.ParseInt(v.Text, 10, 64)
		moved += n
	}
	if moved != acked[0].Load() {
		t.Errorf("%d increments were acknowledged, %d were moved", acked[0].Load(), moved)
	}
}

// TestATargetThatHangsHoldsNobodyUp lets a target take the connection and say nothing.
func TestATargetThatHangsHoldsNobodyUp(t *testing.T) {
	s := start(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, port, _ := net.SplitHostPort(silent.Addr().String())
	a, b := s.dial(t), s.dial(t)
	a.Want(t, "+OK", "SET", "k", "v")
	if err := a.Send("MIGRATE", "127.0.0.1", port, "k", "0", "500"); err != nil {
		t.Fatal(err)
	}
	taken, err := silent.Accept() // from here on the move is under way
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	b.Want(t, `"v"`, "GET", "k")
	b.Want(t, "+OK", "SET", "k", "w")
	b.Want(t, ":1", "DEL", "k")
	if v := a.Next(t); !v.IsError("IOERR error or timeout reading to target instance") {
		t.Errorf("got %v", v)
	}
}

// TestAKeyDeletedOnItsWayIsDeletedThere holds the target's reply back until the source has deleted the key.
func TestAKeyDeletedOnItsWayIsDeletedThere(t *testing.T) {
	s, to := start(t), start(t)
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	_, port, _ := net.SplitHostPort(door.Addr().String())
	arrived, letGo := make(chan struct{}), make(chan struct{})
	go relay(door, to.port, arrived, letGo)
	a, b := s.dial(t), s.dial(t)
	a.Want(t, "+OK", "SET", "k", "v")
	if err := a.Send("MIGRATE", "127.0.0.1", port, "k", "0", "30000"); err != nil {
		t.Fatal(err)
	}
	<-arrived
	b.Want(t, ":1", "DEL", "k")
	close(letGo)
	if v := a.Next(t); v.Text != "OK" {
		t.Errorf("got %v", v)
	}
	to.dial(t).Want(t, ":0", "EXISTS", "k")
}

// relay passes one connection on; the first replies wait for letGo.
func relay(door net.Listener, port string, arrived, letGo chan struct{}) {
	in, err := door.Accept()
	if err != nil {
		return
	}
	defer in.Close()
	out, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return
	}
	defer out.Close()
	go func() { _, _ = io.Copy(out, in) }()
	buf := make([]byte, 4096)
	n, _ := out.Read(buf)
	close(arrived)
	<-letGo
	_, _ = in.Write(buf[:n])
	_, _ = io.Copy(in, out)
}

// TestASmallKeyTakesLittleMemory moves keys one by one and looks at what both servers allocate for it: the table of a
// compressor alone is 256 KB.
func TestASmallKeyTakesLittleMemory(t *testing.T) {
	from, to := start(t), start(t)
	a := from.dial(t)
	const keys = 200
	for i := range keys {
		a.OK(t, "SET", "k"+strconv.Itoa(i), "v")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range keys {
		a.Want(t, "+OK", "MIGRATE", "127.0.0.1", to.port, "k"+strconv.Itoa(i), "0", "30000")
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / keys
	t.Logf("%d bytes a key", each)
	if each > 128<<10 && !testkit.Race {
		t.Errorf("%d bytes are allocated for a key of one byte", each)
	}
}

// BenchmarkMigrate moves keys there and back, a hundred at a time: the time is that of both servers and of the client.
func BenchmarkMigrate(b *testing.B) {
	from, to := start(b), start(b)
	for _, kind := range []struct {
		name string
		args []string
	}{
		{"String", []string{"SET", "", strings.Repeat("0123456789abcdefghijKLMNOPQRST", 4)[:100]}},
		{"Hash", []string{"HSET", "", "field0", "value0-1234", "field1", "value1-1234", "field2", "value2-1234", "field3", "value3-1234"}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			const keys = 100
			here, there := from.dial(b), to.dial(b)
			head := func(s *server) []string { return []string{"MIGRATE", "127.0.0.1", s.port, "", "0", "5000", "KEYS"} }
			go2, back := head(to), head(from)
			for i := range keys {
				kind.args[1] = fmt.Sprint("key:", i)
				here.OK(b, kind.args...)
				go2, back = append(go2, kind.args[1]), append(back, kind.args[1])
			}
			b.ReportAllocs()
			for b.Loop() {
				here.OK(b, go2...)
				there.OK(b, back...)
			}
			here.OK(b, "FLUSHALL")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*keys), "ns/key")
		})
	}
}
