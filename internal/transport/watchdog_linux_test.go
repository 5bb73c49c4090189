package transport

import (
	"errors"
	"runtime"
	"strconv"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"golang.org/x/sys/unix"
)

// begin starts a long command on a connection and returns once it runs.
func (d *door) begin(c *testkit.Client, mark string) {
	d.t.Helper()
	if err := c.Send("LOLWUT", mark); err != nil {
		d.t.Fatal(err)
	}
	<-d.long.begun
}

func TestLongCommandHoldsNobodyUp(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		long, other := d.dial(), d.dial()
		for round := range 20 {
			d.begin(long, strconv.Itoa(round))
			other.Want(t, "+PONG", "PING") // on the same loop, while the command runs
			d.dial().Want(t, "+PONG", "PING")
			d.awayAre(1)
			d.long.end <- struct{}{}
			if v := long.Next(t); v.Text != "DONE "+strconv.Itoa(round) {
				t.Fatalf("got %v", v)
			}
			d.awayAre(0)
		}
	})
}

func TestLongComputationHoldsNobodyUp(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		long, other := d.dial(), d.dial()
		d.long.spins.Store(true)
		d.begin(long, "1")
		other.Want(t, "+PONG", "PING") // on the same loop, while the command computes
		d.long.spins.Store(false)
		d.long.end <- struct{}{}
		if v := long.Next(t); v.Text != "DONE 1" {
			t.Fatalf("got %v", v)
		}
	})
}

// TestStateOfAThread is what tells a thread that computes from one that waits.
func TestStateOfAThread(t *testing.T) {
	ids, stop := make(chan int), make(chan struct{})
	defer close(stop)
	go func() {
		runtime.LockOSThread()
		ids <- unix.Gettid()
		<-stop
	}()
	waits := <-ids
	testkit.Eventually(t, testkit.Patience, func() error {
		if threadWantsCPU(waits) {
			return errors.New("it still seems to run")
		}
		return nil
	})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self := unix.Gettid()
	if !threadWantsCPU(self) {
		t.Error("the thread that asks does not seem to run")
	}
	for before := threadTime(self); threadTime(self) == before; {
	}
	if threadTime(waits) == 0 {
		t.Error("a thread that waits has used no time at all")
	}
}

func TestManyLongCommandsOnOneLoop(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		const n = 8
		var clients []*testkit.Client
		for i := range n {
			c := d.dial()
			clients = append(clients, c)
			if err := c.SendRaw(append(command("LOLWUT", strconv.Itoa(i)), command("ECHO", strconv.Itoa(i))...)); err != nil {
				t.Fatal(err)
			}
		}
		for range n {
			<-d.long.begun // all of them run at the same time
		}
		close(d.long.end)
		for i, c := range clients {
			if v := c.Next(t); v.Text != "DONE "+strconv.Itoa(i) {
				t.Errorf("got %v", v)
			}
			if v := c.Next(t); v.Text != strconv.Itoa(i) {
				t.Errorf("got %v", v)
			}
		}
	})
}

func TestInputOfAConnectionThatIsAwayWaits(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		long, other := d.dial(), d.dial()
		d.begin(long, "1")
		if err := long.SendRaw(append(command("SET", "k", "after"), command("GET", "k")...)); err != nil {
			t.Fatal(err)
		}
		other.Want(t, "+PONG", "PING")
		other.Want(t, "nil", "GET", "k")
		d.long.end <- struct{}{}
		for _, want := range []string{"DONE 1", "OK", "after"} {
			if v := long.Next(t); v.Text != want {
				t.Fatalf("got %v, want %s", v, want)
			}
		}
	})
}

func TestKillOfAConnectionThatIsAway(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		long, other := d.dial(), d.dial()
		id := long.Do(t, "CLIENT", "ID")
		d.begin(long, "1")
		other.Want(t, ":1", "CLIENT", "KILL", "ID", strconv.FormatInt(id.Int, 10))
		d.long.end <- struct{}{}
		_, _ = long.Read() // the reply may come before the end or not
		if err := long.Closed(testkit.Patience); err != nil {
			t.Fatal(err)
		}
		d.clientsBecome(1)
	})
}

func TestClientThatLeavesWhileItIsAway(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		other := d.dial()
		for round := range 20 {
			long := d.dial()
			d.begin(long, strconv.Itoa(round))
			long.Close()
			other.Want(t, "+PONG", "PING")
			d.long.end <- struct{}{}
			d.clientsBecome(1)
		}
	})
}

func TestPostToAConnectionThatIsAway(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		long, other := d.dial(), d.dial()
		id := long.Do(t, "CLIENT", "ID")
		s := d.e.Clients.Get(id.Int)
		d.begin(long, "1")
		order := make(chan int, 3)
		for i := range 3 {
			s.Conn().Post(postedWork(order, i))
		}
		other.Want(t, "+PONG", "PING")
		if len(order) != 0 {
			t.Fatal("posted work ran while the session was in a command")
		}
		d.long.end <- struct{}{}
		for i := range 3 {
			if got := <-order; got != i {
				t.Fatalf("work %d came as number %d", got, i)
			}
		}
		if v := long.Next(t); v.Text != "DONE 1" {
			t.Fatalf("got %v", v)
		}
	})
}

func TestHijackBehindALongCommand(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		c, other := d.dial(), d.dial()
		if err := c.SendRaw(append(append(command("LOLWUT", "1"), command("PSYNC", "?", "-1")...), "rest"...)); err != nil {
			t.Fatal(err)
		}
		<-d.long.begun
		other.Want(t, "+PONG", "PING")
		d.long.end <- struct{}{}
		if v := c.Next(t); v.Text != "DONE 1" {
			t.Fatalf("got %v", v)
		}
		if b, err := c.ReadBytes(4); err != nil || string(b) != "rest" {
			t.Fatalf("got %q, %v", b, err)
		}
		c.Close()
		d.clientsBecome(1)
	})
}

func TestCloseDuringALongCommand(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		long, other := d.dial(), d.dial()
		d.begin(long, "1")
		other.Want(t, "+PONG", "PING")
		closed := make(chan struct{})
		go func() { d.loops.Close(); close(closed) }()
		if err := other.Closed(testkit.Patience); err != nil {
			t.Fatal(err)
		}
		d.long.end <- struct{}{}
		<-closed
		if n := d.e.Clients.Len(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}
