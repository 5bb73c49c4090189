package command

import (
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// This file holds replies that are as long as the client says, however little data there is: SRANDMEMBER and its likes with
// a negative count.

const (
	// poolMax is the number of names up to which all are copied, and that are drawn from a bigger value, for a reply that
	// is sent in slices.
	poolMax = 1 << 14
	// sliceBytes is what is replied at a time: about 1 ms of one event loop.
	sliceBytes = 256 << 10
	// sliceAheadMax is how many bytes may wait for a client that reads slowly before the next slice is put off.
	sliceAheadMax = 4 << 20
	// slicePause is for how long it is put off.
	slicePause = 10 * time.Millisecond
)

// replyInSlices replies n times one. Between slices other clients are served, and the keys are not locked: one must look at
// nothing but what it brought with it. In a transaction all is replied at once. A reply that is sure to be too long is not begun.
func replyInSlices(c *engine.Ctx, n int64, one func(c *engine.Ctx)) {
	const elementBytes = 6 // the empty string: no element is shorter
	if c.S.OverHard(int(min(n, 1<<40) * elementBytes)) {
		c.W.Out.Reset() // the head of the reply, and what waits before it
		tooLong(c)
		return
	}
	replySlice(c, n, 0, one)
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
