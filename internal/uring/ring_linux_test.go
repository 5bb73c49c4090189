package uring

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// open makes a ring that belongs to the test's thread; the test is skipped where there is no io_uring.
func open(t *testing.T, o Options) *Ring {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	r, err := New(o)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if err := r.Enable(); err != nil {
		t.Fatal(err)
	}
	return r
}

var small = Options{Requests: 8, Completions: 32, Buffers: 4, BufferBytes: 16}

func pair(t *testing.T) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return fds[0], fds[1]
}

// next waits for a completion.
func (r *Ring) await(t *testing.T) Completion {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if c, ok := r.Next(); ok {
			return c
		}
		r.PollBriefly(10)
	}
	t.Fatal("no completion came")
	return Completion{}
}

func (r *Ring) wantReceived(t *testing.T, data uint64, text string) {
	t.Helper()
	c := r.await(t)
	if got := r.Received(c); c.Data != data || string(got) != text || !c.More() {
		t.Fatalf("got %+v with %q, want %q", c, got, text)
	}
	r.Release(c)
}

func (r *Ring) wantResult(t *testing.T, data uint64, result int) {
	t.Helper()
	if c := r.await(t); c.Data != data || int(c.Result) != result || c.More() {
		t.Fatalf("got %+v, want data %d, result %d", c, data, result)
	}
}

func write(t *testing.T, fd int, text string) {
	t.Helper()
	if n, err := unix.Write(fd, []byte(text)); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
}

func TestReceivesUntilTheEnd(t *testing.T) {
	r := open(t, small)
	a, b := pair(t)
	r.Recv(a, 7)
	if n := r.PollBriefly(1); n != 0 {
		t.Fatalf("%d completions before anything was sent", n)
	}
	for range 20 { // more than there are buffers and places in the ring of buffers
		write(t, b, "hello")
		r.wantReceived(t, 7, "hello")
	}
	write(t, b, "0123456789abcdef and more")
	r.wantReceived(t, 7, "0123456789abcdef")
	r.wantReceived(t, 7, " and more")
	_ = unix.Shutdown(b, unix.SHUT_WR)
	r.wantResult(t, 7, 0)
}

func TestWantOfBuffersEndsTheRequest(t *testing.T) {
	r := open(t, small)
	a, b := pair(t)
	write(t, b, string(bytes.Repeat([]byte("x"), 100)))
	r.Recv(a, 7)
	var held []Completion
	for range small.Buffers {
		held = append(held, r.await(t))
	}
	r.wantResult(t, 7, -int(unix.ENOBUFS))
	for _, c := range held {
		r.Release(c)
	}
	r.Recv(a, 8)
	r.wantReceived(t, 8, string(bytes.Repeat([]byte("x"), 16)))
}

func TestSendCompletesAtOnce(t *testing.T) {
	r := open(t, small)
	a, b := pair(t)
	memory, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	copy(memory, "hello")
	r.Send(a, memory[:5], 1)
	r.Send(a, memory, 2)
	r.Send(a, memory, 3)
	if n := r.Prepared(); n != 3 {
		t.Fatalf("%d requests are prepared", n)
	}
	r.Submit()
	if n := r.Ready(); n != 3 {
		t.Fatalf("%d completions, want 3", n)
	}
	r.wantResult(t, 1, 5)
	if c := r.await(t); c.Data != 2 || c.Result <= 0 || int(c.Result) >= len(memory) {
		t.Fatalf("got %+v, want a part", c)
	}
	r.wantResult(t, 3, -int(unix.EAGAIN))
	unix.Close(b)
	r.Send(a, memory[:5], 4)
	r.wantResult(t, 4, -int(unix.EPIPE))
}

// Most buffers are held back until two requests in succession have found none.
func TestBuffersAreHeldBack(t *testing.T) {
	many := small
	many.Buffers = 2 * buffersAtFirst
	r := open(t, many)
	a, b := pair(t)
	write(t, b, string(bytes.Repeat([]byte("x"), 1000)))
	for data, wanted := uint64(7), 1; data < 9; data, wanted = data+1, 2 {
		r.Recv(a, data)
		c := r.await(t)
		for n := 1; c.Result > 0; n++ { // none is released
			if c = r.await(t); n > buffersAtFirst {
				t.Fatal("more buffers are given than at first")
			}
		}
		if c.Data != data || int(c.Result) != -int(unix.ENOBUFS) {
			t.Fatalf("got %+v, want ENOBUFS", c)
		}
		r.Release(c)
		if r.buffers.wanted != wanted {
			t.Fatalf("%d requests want buffers, not %d", r.buffers.wanted, wanted)
		}
	}
	r.Recv(a, 9)
	for range buffersAtFirst {
		r.Release(r.await(t))
	}
	if r.buffers.held != 0 || r.buffers.wanted != 0 {
		t.Errorf("%d buffers are held back, %d requests want some", r.buffers.held, r.buffers.wanted)
	}
}

func TestWatchAndCancel(t *testing.T) {
	r := open(t, small)
	a, b := pair(t)
	r.Watch(a, unix.POLLIN, 1)
	r.WatchOn(a, unix.POLLIN, 2)
	write(t, b, "x")
	seen := map[uint64]bool{}
	for range 2 {
		c := r.await(t)
		seen[c.Data] = c.More()
	}
	if more, ok := seen[1]; more || !ok || !seen[2] {
		t.Fatalf("got %v", seen)
	}
	write(t, b, "y")
	if c := r.await(t); c.Data != 2 || !c.More() {
		t.Fatalf("got %+v", c)
	}
	r.Cancel(2, 3)
	results := map[uint64]int32{}
	for range 2 {
		c := r.await(t)
		results[c.Data] = c.Result
	}
	if results[2] != -int32(unix.ECANCELED) || results[3] != 0 {
		t.Fatalf("got %v", results)
	}
}

// TestMoreRequestsThanPlaces prepares more than fit: what is prepared is handed to the kernel between.
func TestMoreRequestsThanPlaces(t *testing.T) {
	r := open(t, small)
	a, _ := pair(t)
	for i := range 3 * small.Requests {
		if !r.Watch(a, unix.POLLOUT, uint64(i)) {
			t.Fatal("no place")
		}
	}
	for i := range 3 * small.Requests {
		if c := r.await(t); c.Data != uint64(i) {
			t.Fatalf("got %+v as number %d", c, i)
		}
	}
}

// TestNoCompletionIsLost has more completions than places.
func TestNoCompletionIsLost(t *testing.T) {
	r := open(t, small)
	a, _ := pair(t)
	const n = 100
	for i := range n {
		if !r.Watch(a, unix.POLLOUT, uint64(i)) {
			t.Fatal("no place")
		}
	}
	seen := make(map[uint64]bool)
	for range n {
		seen[r.await(t).Data] = true
	}
	if len(seen) != n {
		t.Fatalf("%d of %d", len(seen), n)
	}
}

// TestARingThatIsLeftTakesNothing is what a hand-over to another thread relies on: a ring that its thread does not enter
// reads nothing from sockets, neither while it stands nor when it is closed.
func TestARingThatIsLeftTakesNothing(t *testing.T) {
	old := open(t, small)
	a, b := pair(t)
	old.Recv(a, 1)
	old.Poll()
	write(t, b, "for the next")
	next, err := New(small)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err := next.Enable(); err != nil {
			t.Error(err)
			return
		}
		next.Recv(a, 2)
		next.Poll()
		c, _ := next.Next()
		if got := next.Received(c); c.Data != 2 || string(got) != "for the next" {
			t.Errorf("got %+v with %q", c, got)
		}
		next.Release(c)
	}()
	<-done
	if n := old.Ready(); n != 0 {
		t.Errorf("%d completions in the ring that was left", n)
	}
	old.Close()
	write(t, b, "more")
	_ = unix.SetNonblock(a, true)
	buf := make([]byte, 16)
	if n, err := unix.Read(a, buf); err != nil || string(buf[:n]) != "more" {
		t.Errorf("got %q, %v", buf[:max(n, 0)], err)
	}
}

func TestSpinningFindsWhatComes(t *testing.T) {
	r := open(t, small)
	a, b := pair(t)
	r.Recv(a, 7)
	r.Poll()
	if n := r.Spin(time.Microsecond); n != 0 {
		t.Fatalf("%d completions although nothing came", n)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = unix.Write(b, []byte("late"))
	}()
	if n := r.Spin(time.Minute); n != 1 {
		t.Fatalf("%d completions, want what came while it was spinning", n)
	}
	<-sent
	r.wantReceived(t, 7, "late")
}
