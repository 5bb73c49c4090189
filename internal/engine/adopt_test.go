package engine_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// owner is a session whose input lies in buffers that a value may take over.
type owner struct {
	t testing.TB
	e *engine.Engine
	w *engine.Worker
	s *engine.Session
}

func newOwner(t testing.TB) *owner {
	e := inproc.New(t, inproc.Options{})
	o := &owner{t, e, e.NewWorker(), e.NewSession(inproc.Nowhere{}, engine.Peer{})}
	t.Cleanup(func() {
		o.s.Close()
		o.w.Drop()
		if n := e.Buffers.Held(); n != 0 {
			t.Errorf("%d bytes of buffers are held by nobody", n)
		}
	})
	return o
}

// run executes commands that arrived in one buffer, and returns the replies and whether a value took the buffer over.
func (o *owner) run(commands ...[]byte) (replies string, taken bool) {
	o.t.Helper()
	input := bytes.Join(commands, nil)
	const page = 4096
	in := append(o.w.Spare.Get(len(input)+page, len(input)+page), input...)
	for len(in) > 0 {
		used, buf := o.s.ProcessOwn(o.w, in)
		taken = taken || len(buf) == 0 || &buf[0] != &in[0]
		buf = buf[:copy(buf, buf[used:])]
		for _, p := range o.w.Out.Pieces(nil) {
			replies += string(p)
		}
		o.w.Out.Reset()
		if in = buf; len(in) == 0 {
			o.w.Spare.Put(in)
		}
	}
	return replies, taken
}

func words(args ...string) []byte { return testkit.AppendCommand(nil, args...) }

// A value that fills the buffer it arrived in takes the buffer over, whatever command brought it, and the commands behind it
// are executed all the same. Afterwards it can be changed like any other.
func TestBigValuesTakeTheirBuffers(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 20<<20/16) + "!"
	bulk := "$" + strconv.Itoa(len(big)) + "\r\n" + big + "\r\n"
	for _, c := range []struct {
		command []string
		reply   string
		before  []string
	}{
		{[]string{"SET", "k", big}, "+OK\r\n", nil},
		{[]string{"SET", "k", big, "EX", "1000"}, "+OK\r\n", []string{"SET", "k", "old"}},
		{[]string{"SET", "k", big, "NX", "GET"}, "$-1\r\n", nil},
		{[]string{"SETEX", "k", "1000", big}, "+OK\r\n", nil},
		{[]string{"SETNX", "k", big}, ":1\r\n", nil},
		{[]string{"GETSET", "k", big}, "$3\r\nold\r\n", []string{"SET", "k", "old"}},
		{[]string{"MSET", "k", big}, "+OK\r\n", []string{"SET", "k", "old"}},
		{[]string{"APPEND", "k", big}, ":" + strconv.Itoa(len(big)) + "\r\n", nil},
	} {
		o := newOwner(t)
		if c.before != nil {
			o.run(words(c.before...))
		}
		replies, taken := o.run(words(c.command...), words("GET", "k"), words("PING"))
		if !taken || replies != c.reply+bulk+"+PONG\r\n" {
			t.Fatalf("%s: taken %v, %d bytes of replies", c.command[0], taken, len(replies))
		}
		replies, _ = o.run(words("APPEND", "k", "<tail>"), words("SETRANGE", "k", strconv.Itoa(len(big)+8200), "<end>"), words("GETRANGE", "k", strconv.Itoa(len(big)-1), "-1"))
		want := "!<tail>" + strings.Repeat("\x00", 8200-6) + "<end>"
		if !strings.HasSuffix(replies, "$"+strconv.Itoa(len(want))+"\r\n"+want+"\r\n") {
			t.Fatalf("%s: the value that was changed ends with %q", c.command[0], replies[max(0, len(replies)-100):])
		}
		if replies, _ = o.run(words("DEL", "k")); replies != ":1\r\n" {
			t.Fatalf("%s: %q", c.command[0], replies)
		}
	}
}

// A transaction has copies of its arguments, and a short value is copied.
func TestOtherValuesLeaveTheirBuffers(t *testing.T) {
	o := newOwner(t)
	big := strings.Repeat("v", 17<<20)
	if _, taken := o.run(words("MULTI"), words("SET", "k", big), words("EXEC")); taken {
		t.Error("a queued command gave the buffer away")
	}
	if replies, taken := o.run(words("SET", "k", big[:1<<20]), words("STRLEN", "k")); taken || !strings.HasSuffix(replies, ":1048576\r\n") {
		t.Errorf("a short value took the buffer over: %v, %q", taken, replies)
	}
}

// The slow log shows a command whose buffer is gone.
func TestSlowLogShowsWhatGaveItsBufferAway(t *testing.T) {
	o := newOwner(t)
	o.e.Timing.SetSlow(0)
	big := strings.Repeat("v", 17<<20)
	o.run(words("SET", "k", big), words("DEL", "k"))
	for _, line := range o.e.Timing.Slow.Last(10) {
		if line.Args[0] == "SET" {
			if want := big[:128] + "... (" + strconv.Itoa(len(big)-128) + " more bytes)"; line.Args[2] != want {
				t.Errorf("the slow log shows %q", line.Args)
			}
			return
		}
	}
	t.Error("the slow log does not show the command")
}

// What replicas get of a big value is what the command said, whether its bytes went to the log by themselves or not.
func TestBigEffectsAreLoggedAsTheyCame(t *testing.T) {
	o := newOwner(t)
	o.e.LockAll()
	o.e.Log.Start()
	o.e.UnlockAll()
	reader, err := o.e.Log.Reader(o.e.Log.End())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	big, small := strings.Repeat("0123456789", 2<<20), strings.Repeat("s", 100<<10)
	o.run(words("SET", "k", big), words("SET", "short", "v"), words("MSET", "a", small, "b", small))
	o.run(words("MULTI"), words("SET", "c", small), words("SET", "d", small), words("EXEC"), words("GETSET", "k", small))
	var got []byte
	for b := reader.Next(); b != nil; b = reader.Next() {
		got = append(got, b...)
	}
	want := bytes.Join([][]byte{
		words("SELECT", "0"), words("SET", "k", big), words("SET", "short", "v"), words("MSET", "a", small, "b", small),
		words("MULTI"), words("SET", "c", small), words("SET", "d", small), words("EXEC"), words("SET", "k", small),
	}, nil)
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes are logged, not the %d that were to be", len(got), len(want))
	}
}
