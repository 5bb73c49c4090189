package command

import (
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// This file holds replies that are as long as the client says, however little data there is: SRANDMEMBER and its likes with
// a negative count.

const (
	// poolMax is the number of elements up to which all are copied, and that are drawn from a bigger value, for a reply
	// that is sent in slices.
	poolMax = 1 << 14
	// sliceBytes is what is replied at a time: about 1 ms of one event loop.
	sliceBytes = 256 << 10
	// sliceAheadMax is how many bytes may wait for a client that reads slowly before the next slice is put off.
	sliceAheadMax = 4 << 20
	// slicePause is for how long it is put off.
	slicePause = 10 * time.Millisecond
	// heldMax is how many bytes are replied at once where slices are impossible: a script makes several times as much of them.
	heldMax = 256 << 20
)

// drawnReply is a reply of n elements that are drawn from a copy of some.
type drawnReply struct {
	n     int64
	texts int                 // bytes of the texts of an element, about
	open  func()              // opens the reply
	one   func(c *engine.Ctx) // replies an element
}

// reply replies in slices. Between them other clients are served, and the keys are not locked: one must look at nothing but
// what it brought with it. In a transaction or a script all is replied at once, or refused. A reply that is sure to be too
// long for its client is not begun.
func (r *drawnReply) reply(c *engine.Ctx) {
	const elementBytes = 6 // the empty string: no element is shorter
	if c.InExec() {
		if r.n > heldMax/int64(elementBytes+r.texts) {
			c.Err("ERR reply is too long for a transaction or a script")
			return
		}
	} else if c.S.OverHard(int(min(r.n, 1<<40) * elementBytes)) {
		c.W.Out.Reset() // what waits before it
		tooLong(c)
		return
	}
	r.open()
	replySlice(c, r.n, 0, r.one)
}

// tooLong ends a connection whose reply is longer than its output limit.
func tooLong(c *engine.Ctx) {
	c.S.CountOverOutput()
	c.CloseAfterReply()
	c.S.Kill()
}

// replySlice goes on with a reply of which there were so many bytes before. A reply that is longer than the client's output
// limit ends the connection, as if it had been collected first.
func replySlice(c *engine.Ctx, n int64, before int, one func(c *engine.Ctx)) {
	start := c.W.Out.Len()
	for n > 0 && (c.InExec() || c.W.Out.Len()-start < sliceBytes) {
		one(c)
		n--
	}
	if n == 0 {
		return
	}
	sent := before + c.W.Out.Len() - start
	if c.S.OverHard(sent) {
		tooLong(c)
		return
	}
	more := func(c *engine.Ctx) { replySlice(c, n, sent, one) }
	if _, waiting := c.S.Conn().Buffered(); waiting > sliceAheadMax {
		c.Suspend(engine.WaitWork, slicePause, more, nil)
		return
	}
	c.Suspend(engine.WaitWork, 0, nil, nil).Resume(more)
}
