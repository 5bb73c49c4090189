package transport

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit"
)

// recorder is the append-only file of a test: it has what it was told of.
type recorder struct {
	mu     sync.Mutex
	reader *engine.LogReader
	bytes  []byte
	told   int
}

// record reads the log from now on.
func record(t *testing.T, e *engine.Engine) *recorder {
	t.Helper()
	e.LockAll()
	defer e.UnlockAll()
	e.Log.Start()
	reader, err := e.Log.Reader(e.Log.End())
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{reader: reader}
	e.Log.SetSink(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told++
		for b := reader.Next(); b != nil; b = reader.Next() {
			r.bytes = append(r.bytes, b...)
		}
	})
	return r
}

func (r *recorder) has(value string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Contains(r.bytes, []byte("\r\n"+value+"\r\n"))
}

// TestNoReplyLeavesBeforeTheFileHasIt: whoever has a reply to a write finds it in the append-only file, whether the reply is
// short or long, alone or behind others, and whether or not a long command takes the loop away meanwhile.
func TestNoReplyLeavesBeforeTheFileHasIt(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		file := record(t, d.e)
		const clients, rounds, changes = 16, 80, 15
		d.dial().Want(t, "+OK", "SET", "large", strings.Repeat("x", 2*replyBytesMax))
		var busy sync.WaitGroup
		for n := range clients {
			c := d.dial()
			busy.Go(func() {
				for round := range rounds {
					if err := writesAreKept(c, file, n, round); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		d.changeHands(changes)
		busy.Wait()
	})
}

// writesAreKept sends a pipeline of writes, some with a long reply behind, and looks for each in the file when its reply comes.
func writesAreKept(c *testkit.Client, file *recorder, n, round int) error {
	depth := 1 + (n+round)%5
	var sent []byte
	for i := range depth {
		sent = append(sent, command("SET", fmt.Sprint("key", n), fmt.Sprintf("%d/%d/%d", n, round, i))...)
	}
	if round%7 == 0 {
		sent = append(sent, command("GET", "large")...)
	}
	if err := c.SendRaw(sent); err != nil {
		return err
	}
	for i := range depth {
		v, err := c.Read()
		if err != nil {
			return err
		}
		if value := fmt.Sprintf("%d/%d/%d", n, round, i); v.Text != "OK" || !file.has(value) {
			return fmt.Errorf("the reply %v to the write of %s came before the file had it", v, value)
		}
	}
	if round%7 == 0 {
		_, err := c.Read()
		return err
	}
	return nil
}

// TestClientsShareAWrite: on a loop that sends the replies of a round together, the file is told once a round.
func TestClientsShareAWrite(t *testing.T) {
	if _, _, err := choose(Uring); err != nil {
		t.Skip(err)
	}
	d := open(t, Options{Loops: 1, Backend: Uring})
	file := record(t, d.e)
	var list []*testkit.Client
	for range 50 {
		list = append(list, d.dial())
	}
	held, let := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(let) })
	defer goOn()
	d.loops.loops[0].post(letter{loop: func(*runner) { close(held); <-let }})
	<-held // the loop is away until all of them have sent
	for i, c := range list {
		if err := c.Send("SET", strconv.Itoa(i), "v"); err != nil {
			t.Fatal(err)
		}
	}
	goOn()
	for _, c := range list {
		c.Next(t)
	}
	file.mu.Lock()
	defer file.mu.Unlock()
	if file.told > len(list)/2 {
		t.Errorf("the file was told %d times of %d writes", file.told, len(list))
	}
}
