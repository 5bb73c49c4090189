package transport

import (
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// lengthy is a script that lasts until its command is told to end.
var lengthy = []string{"EVAL", "redis.call('bitcount', KEYS[1]) return ARGV[1]", "1", "k", "done"}

// knownRuns is how often a command that is known to take long is called.
const knownRuns = 5

// learn makes a command that calls BITCOUNT known as long: it lasts until the watchdog has looked at its loop many times.
func (d *door) learn(words ...string) {
	d.t.Helper()
	const looks = 20
	slow, long, other := d.dial(), d.dial(), d.dial()
	if err := slow.Send(words...); err != nil {
		d.t.Fatal(err)
	}
	<-d.count.begun
	for i := range looks {
		d.begin(long, strconv.Itoa(i))
		other.Want(d.t, "+PONG", "PING") // the watchdog has given the loop to another runner
		d.long.end <- struct{}{}
		long.Next(d.t)
	}
	d.count.end <- struct{}{}
	slow.Next(d.t)
	for _, c := range []*testkit.Client{slow, long, other} {
		c.Close()
	}
	d.clientsBecome(0)
}

// beganAside waits until a BITCOUNT begins, which must not be on a loop.
func (d *door) beganAside() {
	d.t.Helper()
	<-d.count.begun
	if !d.count.aside.Load() {
		d.t.Fatal("it began on its loop")
	}
}

// awayAre checks how many connections are away.
func (d *door) awayAre(n int32) {
	d.t.Helper()
	if got := d.loops.away.Load(); got != n {
		d.t.Errorf("%d connections are away, want %d", got, n)
	}
}

func TestKnownLongScriptDoesNotBeginOnItsLoop(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.learn(lengthy...)
		c, other := d.dial(), d.dial()
		other.Want(t, "+PONG", "PING")
		runner := d.loops.loops[0].tid.Load()
		for range knownRuns {
			if err := c.Send(lengthy...); err != nil {
				t.Fatal(err)
			}
			d.beganAside()
			other.Want(t, "+PONG", "PING")
			d.awayAre(1)
			d.count.end <- struct{}{}
			if v := c.Next(t); v.Text != "done" {
				t.Fatalf("got %v", v)
			}
			d.awayAre(0)
		}
		if d.loops.loops[0].tid.Load() != runner {
			t.Error("the loop has another runner")
		}
	})
}

func TestShortCommandComesBackToItsLoop(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.learn("BITCOUNT", "k")
		close(d.count.end)
		c := d.dial()
		const roundsMax = 10_000
		for range roundsMax {
			c.Do(t, "BITCOUNT", "k")
			<-d.count.begun
			if !d.count.aside.Load() {
				return
			}
		}
		t.Error("it is taken for long although it is short")
	})
}

func TestOrderAroundAKnownLongCommand(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.learn("BITCOUNT", "k")
		c, other := d.dial(), d.dial()
		var in []byte
		for _, words := range [][]string{{"SET", "a", "1"}, {"BITCOUNT", "k"}, {"MULTI"}, {"GET", "a"}, {"BITCOUNT", "k"}, {"EXEC"}, {"SET", "a", "2"}} {
			in = append(in, command(words...)...)
		}
		if err := c.SendRaw(in); err != nil {
			t.Fatal(err)
		}
		for range 2 { // alone, and in the transaction
			d.beganAside()
			other.Want(t, "+PONG", "PING")
			d.count.end <- struct{}{}
		}
		for _, want := range []string{"OK", "DONE k", "OK", "QUEUED", "QUEUED"} {
			if v := c.Next(t); v.Text != want {
				t.Fatalf("got %v, want %s", v, want)
			}
		}
		if v := c.Next(t); len(v.Items) != 2 || v.Items[0].Text != "1" || v.Items[1].Text != "DONE k" {
			t.Fatalf("got %v", v)
		}
		if v := c.Next(t); v.Text != "OK" {
			t.Fatalf("got %v", v)
		}
	})
}

func TestMonitorSeesAKnownLongScriptOnce(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.learn(lengthy...)
		c, other, monitor := d.dial(), d.dial(), d.dial()
		monitor.Want(t, "+OK", "MONITOR")
		if err := c.Send(lengthy...); err != nil {
			t.Fatal(err)
		}
		d.beganAside()
		d.count.end <- struct{}{}
		c.Next(t)
		other.Want(t, "+PONG", "PING")
		for _, want := range []string{`"EVAL"`, `lua] "bitcount"`, `"PING"`} {
			if v := monitor.Next(t); !strings.Contains(v.Text, want) {
				t.Fatalf("got %v, want %s", v, want)
			}
		}
	})
}

// TestMuchInputBehindAKnownLongCommand is more than a client may be ahead.
func TestMuchInputBehindAKnownLongCommand(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.learn("BITCOUNT", "k")
		c, other := d.dial(), d.dial()
		if err := c.Send("BITCOUNT", "k"); err != nil {
			t.Fatal(err)
		}
		d.beganAside()
		value := strings.Repeat("x", 5*aheadBytes)
		sent := make(chan error, 1)
		go func() { sent <- c.SendRaw(append(command("SET", "big", value), command("STRLEN", "big")...)) }()
		other.Want(t, "+PONG", "PING")
		other.Want(t, ":0", "EXISTS", "big")
		d.count.end <- struct{}{}
		for _, want := range []string{"DONE k", "OK"} {
			if v := c.Next(t); v.Text != want {
				t.Fatalf("got %v, want %s", v, want)
			}
		}
		if v := c.Next(t); v.Int != int64(len(value)) {
			t.Fatalf("got %v", v)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	})
}

func TestEndOfAKnownLongCommandsClient(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.learn("BITCOUNT", "k")
		other := d.dial()
		for range knownRuns {
			c := d.dial()
			if err := c.Send("BITCOUNT", "k"); err != nil {
				t.Fatal(err)
			}
			d.beganAside()
			c.Close()
			other.Want(t, "+PONG", "PING")
			d.count.end <- struct{}{}
			d.clientsBecome(1)
		}
	})
}

func TestCloseDuringAKnownLongCommand(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		d.learn("BITCOUNT", "k")
		c, other := d.dial(), d.dial()
		if err := c.Send("BITCOUNT", "k"); err != nil {
			t.Fatal(err)
		}
		d.beganAside()
		closed := make(chan struct{})
		go func() { d.loops.Close(); close(closed) }()
		if err := other.Closed(testkit.Patience); err != nil {
			t.Fatal(err)
		}
		d.count.end <- struct{}{}
		<-closed
		if n := d.e.Clients.Len(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

// A command that is about to do much leaves its loop the first time too: one with a count takes many elements out of a value
// that has so many, one with many arguments looks at each.
func TestCommandThatIsAboutToDoMuchLeavesItsLoop(t *testing.T) {
	const many = 10_000
	elements := make([]string, many)
	for i := range elements {
		elements[i] = "element:" + strconv.Itoa(i)
	}
	onEach(t, 1, func(t *testing.T, d *door) {
		c := d.dial()
		c.Do(t, append([]string{"RPUSH", "much"}, elements...)...)
		c.Do(t, "RPUSH", "little", "a", "b")
		for _, one := range []struct {
			words []string
			aside int32
		}{
			{[]string{"RPOP", "much"}, 0},
			{[]string{"RPOP", "much", "10"}, 0},
			{[]string{"RPOP", "much", strconv.Itoa(many)}, 1},
			{[]string{"RPOP", "little", strconv.Itoa(many)}, 0},
			{[]string{"RPOP", "missing", strconv.Itoa(many)}, 0},
			{append([]string{"SADD", "s"}, elements[:10]...), 0},
			{append([]string{"SADD", "s"}, elements...), 1},
		} {
			d.aside.Store(0)
			c.Want(t, "+OK", one.words...)
			if n := d.aside.Load(); n != one.aside {
				t.Errorf("%s with %d arguments: %d ran aside, want %d", one.words[0], len(one.words)-1, n, one.aside)
			}
			d.awayAre(0)
		}
	})
}

// Whoever needs a shard that a long command has waits without the loop, which serves others, and goes on when the command has ended.
func TestNobodyOnALoopWaitsForALongCommandsShard(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.learn("BITCOUNT", "k")
		c, other := d.dial(), d.dial()
		other.Want(t, "+PONG", "PING")
		for range knownRuns {
			if err := c.Send("BITCOUNT", "k"); err != nil {
				t.Fatal(err)
			}
			d.beganAside()
			var waiting []*testkit.Client
			for range 3 {
				w := d.dial()
				if err := w.Send("SET", "k", "v"); err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, w)
				other.Want(t, "+PONG", "PING")
			}
			waiting[0].Close()
			d.count.end <- struct{}{}
			c.Next(t)
			for _, w := range waiting[1:] {
				if v := w.Next(t); v.Text != "OK" {
					t.Fatalf("got %v", v)
				}
				w.Close()
			}
		}
	})
}

// A script that holds its shards is waited for in the same way.
func TestNobodyOnALoopWaitsForAScript(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.learn(lengthy...)
		c, other, waiting := d.dial(), d.dial(), d.dial()
		if err := c.Send(lengthy...); err != nil {
			t.Fatal(err)
		}
		d.beganAside()
		if err := waiting.Send("SET", "k", "v"); err != nil {
			t.Fatal(err)
		}
		other.Want(t, "+PONG", "PING")
		d.count.end <- struct{}{}
		if v := c.Next(t); v.Text != "done" {
			t.Fatalf("got %v", v)
		}
		if v := waiting.Next(t); v.Text != "OK" {
			t.Fatalf("got %v", v)
		}
	})
}
