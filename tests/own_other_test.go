package tests

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// The cases of sections that have few cases in Go: blocking, script, stream.

func TestCase_c142_UnblockDoesNotReleasePausedClients(t *testing.T) {
	own(t, "c142", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		c, b := s.Dial(t), s.Dial(t)
		id := b.OK(t, "CLIENT", "ID").Plain()
		began := time.Now()
		c.Want(t, "+OK", "CLIENT", "PAUSE", "600", "WRITE")
		must(t, b.Send("SET", "k", "v"))
		must(t, b.Quiet(quietDuring))
		c.Want(t, ":0", "CLIENT", "UNBLOCK", id)
		if v := b.Next(t); v.String() != "+OK" || time.Since(began) < 500*time.Millisecond {
			t.Errorf("SET: %v after %v", v, time.Since(began))
		}
	})
}

func TestCase_c170_NoElementIsLostBetweenMovers(t *testing.T) {
	own(t, "c170", func(t testing.TB) {
		const movers, pushes = 20, 400
		s := testkit.Start(t, testkit.Options{})
		replies := make(chan string, pushes+movers)
		for range movers {
			c := s.Dial(t)
			go func() {
				for {
					v, err := c.Try("BRPOPLPUSH", "source", "target", "0")
					if err != nil {
						return
					}
					replies <- v.String()
				}
			}()
		}
		var pushers sync.WaitGroup
		for p := range 2 {
			c := s.Dial(t)
			pushers.Go(func() {
				for i := p; i < pushes; i += 2 {
					if v, err := c.Try("LPUSH", "source", strconv.Itoa(i)); err != nil || v.Kind != reply.Int {
						t.Errorf("LPUSH: %v %v", v, err)
						return
					}
				}
			})
		}
		pushers.Wait()
		seen := map[string]bool{}
		for range pushes {
			select {
			case v := <-replies:
				seen[v] = true
			case <-time.After(testkit.Patience):
				t.Fatalf("%d different replies", len(seen))
			}
		}
		if len(seen) != pushes {
			t.Errorf("%d different replies", len(seen))
		}
		unique := map[string]bool{}
		for _, element := range s.OK(t, "LRANGE", "target", "0", "-1").Strings() {
			unique[element] = true
		}
		if len(unique) != pushes {
			t.Errorf("%d different elements in the target", len(unique))
		}
		s.Want(t, ":0", "EXISTS", "source")
	})
}

func TestCase_c161d_EndlessScript(t *testing.T) {
	own(t, "c161d", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"busy-reply-threshold 50"}})
		script := s.Dial(t)
		must(t, script.Send("EVAL", "while true do end", "0"))
		eventuallyReply(t, testkit.Patience, s, "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "GET", "k")
		s.Want(t, "+OK", "SCRIPT", "KILL")
		if v := script.Next(t); !v.IsError("ERR Error running script") && !v.IsError("ERR ") {
			t.Errorf("the script's client gets %v", v)
		}
		eventuallyReply(t, testkit.Patience, s, "nil", "GET", "k")
	})
}

func TestCase_c161e_EndlessScriptThatWrote(t *testing.T) {
	own(t, "c161e", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"busy-reply-threshold 50"}})
		script := s.Dial(t)
		must(t, script.Send("EVAL", "redis.call('set',KEYS[1],1) while true do end", "1", "k"))
		eventuallyReply(t, testkit.Patience, s, "-BUSY...", "GET", "k")
		s.Want(t, "-UNKILLABLE...", "SCRIPT", "KILL")
		s.Want(t, "-BUSY...", "GET", "k")
	})
}

func TestCase_c125_GroupLagAfterDeletions(t *testing.T) {
	own(t, "c125", func(t testing.TB) {
		c := testkit.Start(t, testkit.Options{}).Dial(t)
		for i := range 5 {
			c.OK(t, "XADD", "s", fmt.Sprintf("%d-1", i+1), "f", "v")
		}
		c.Want(t, "+OK", "XGROUP", "CREATE", "s", "g", "0")
		c.OK(t, "XREADGROUP", "GROUP", "g", "c", "COUNT", "2", "STREAMS", "s", ">")
		c.Want(t, ":2", "XDEL", "s", "1-1", "4-1")
		c.Want(t, `[field("lag" nil | :2)]`, "XINFO", "GROUPS", "s")
		c.OK(t, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
		c.Want(t, `[field("lag" :0)]`, "XINFO", "GROUPS", "s")
	})
}

func TestCase_c104_EntriesAddedBelowEntriesRead(t *testing.T) {
	own(t, "c104", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		c := s.Dial(t)
		for i := range 10 {
			c.OK(t, "XADD", "s", fmt.Sprintf("%d-1", i+1), "f", "v")
		}
		c.Want(t, "+OK", "XGROUP", "CREATE", "s", "g", "0")
		c.OK(t, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
		c.Want(t, ":9", "XTRIM", "s", "MAXLEN", "1")
		c.Want(t, "+OK | -ERR...", "XSETID", "s", "10-1", "ENTRIESADDED", "1")
		c.Want(t, `[field("lag" nil | int(>=0))]`, "XINFO", "GROUPS", "s")
		c.Want(t, "+OK", "SAVE")
		s.Kill(t)
		s.Restart(t)
		s.Want(t, `[field("lag" nil | int(>=0))]`, "XINFO", "GROUPS", "s")
	})
}

// TestProcessTitle is made by its template; what does not fit is cut off.
func TestProcessTitle(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the title is set on Linux alone")
	}
	s := testkit.Start(t, testkit.Options{Conf: []string{"cluster-enabled yes"}})
	title := func() string {
		t.Helper()
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID()))
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimRight(line, "\x00"))
	}
	if want := fmt.Sprintf(":%d [cluster]", s.Port); !strings.HasSuffix(title(), want) {
		t.Errorf("%q, want it to end with %q", title(), want)
	}
	s.OK(t, "CONFIG", "SET", "proc-title-template", "{{a} {port}{unixsocket} ")
	if want := fmt.Sprintf("{a} %d", s.Port); title() != want {
		t.Errorf("%q, want %q", title(), want)
	}
	s.OK(t, "CONFIG", "SET", "proc-title-template", strings.Repeat("x", 1<<20))
	if got := title(); strings.Trim(got, "x") != "" || len(got) >= 1<<20 {
		t.Errorf("%d bytes", len(got))
	}
	s.OK(t, "PING")
}
