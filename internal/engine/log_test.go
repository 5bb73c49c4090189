package engine

import (
	"bytes"
	"testing"
)

// feed writes n bytes of stream.
func feed(l *Log, n int) { l.AppendCommand(bytes.Repeat([]byte{'x'}, n)) }

func startedLog() *Log {
	l := newLog(noID)
	l.Start()
	return l
}

func TestLogKeepsWhatAReaderNeeds(t *testing.T) {
	l := startedLog()
	l.SetBacklogBytes(1000)
	r, err := l.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	feed(l, 10*logBlockBytes)
	if h := l.History(); h.Start != 0 {
		t.Errorf("history starts at %d while a reader is at 0", h.Start)
	}
	if lag := r.Lag(); lag != 10*logBlockBytes {
		t.Errorf("lag is %d, want %d", lag, 10*logBlockBytes)
	}
	if _, err := l.Reader(5); err != nil {
		t.Errorf("a second reader at 5: %v", err)
	}
}

func TestLogForgetsAfterClose(t *testing.T) {
	l := startedLog()
	l.SetBacklogBytes(1000)
	r, err := l.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	feed(l, 10*logBlockBytes)
	r.Close()
	if h := l.History(); h.End-h.Start > 1000+logBlockLeast {
		t.Errorf("%d bytes are kept after the last reader has gone", h.End-h.Start)
	}
	if _, err := l.Reader(5); err == nil {
		t.Error("a reader at an offset that is gone was accepted")
	}
}

func TestLogIDs(t *testing.T) {
	l := startedLog()
	l.Adopt("a", 100, 3)
	feed(l, 10)
	l.Follow("b")
	if h := l.History(); h.ID != "b" || h.ID2 != "a" || h.ID2Valid != 111 || l.StreamDB() != 3 {
		t.Errorf("a replica that follows a new id: %+v, database %d; the stream goes on in database 3", h, l.StreamDB())
	}
	l.Rename("c")
	if h := l.History(); h.ID != "c" || h.ID2 != "b" || l.StreamDB() != -1 {
		t.Errorf("a promoted replica: %+v, database %d; the next effect must select", h, l.StreamDB())
	}
}

// What a big effect was collected in is not kept for the small ones that follow, of a client as of a primary's stream.
func TestBuffersOfBigEffectsAreNotKept(t *testing.T) {
	for _, n := range []int{100, 4 * effectsKept} {
		c := &Ctx{e: &Engine{Log: startedLog()}, W: &Worker{}, S: &Session{}}
		c.W.effects.buf, c.W.effects.count = make([]byte, n), 1
		c.logEffects()
		c.raw, c.S.primaryLink = make([]byte, n), true
		c.logEffects()
		if end := c.e.Log.End(); end < Offset(2*n) {
			t.Errorf("%d of %d bytes are logged", end, 2*n)
		}
		if keeps := n <= effectsKept; (cap(c.raw) > 0) != keeps || (cap(c.W.effects.buf) > 0) != keeps {
			t.Errorf("of %d bytes buffers of %d and %d are kept", n, cap(c.raw), cap(c.W.effects.buf))
		}
	}
}
