package transport

import "github.com/covey-db/covey/internal/engine"

// This file brings the messages of subscriptions to their connections. Those that arrive together are sent together: small
// ones are copied behind each other, big ones are shared by all who get them.

const (
	sharedBytesMin = 4 << 10  // from this size on a message is not copied
	tailBytesMin   = 512      // the first buffer of a connection for small messages
	tailBytesMax   = 16 << 10 // and the largest

)

// Push implements engine.Pusher.
func (c *conn) Push(p engine.Push) { c.l.post(letter{c: c, push: p}) }

// push adds a message to the output of a connection. It is sent when all letters are read.
func (r *runner) push(c *conn, p engine.Push) {
	b := p.Bytes()
	if b == nil {
		return
	}
	if len(b) >= sharedBytesMin {
		c.push(b)
	} else {
		c.pushCopy(b)
	}
	if !c.pushed {
		c.pushed = true
		r.l.pushed = append(r.l.pushed, c)
	}
	if c.outLen >= pushBytesMax && r.flush(c) {
		r.checkLimit(c)
	}
}

// pushCopy copies a small message behind those before it.
func (c *conn) pushCopy(b []byte) {
	last := len(c.out) - 1
	if !c.tail || last < 0 || cap(c.out[last].bytes)-len(c.out[last].bytes) < len(b) {
		size := max(len(b), min(max(c.outLen, tailBytesMin), tailBytesMax))
		c.push(append(make([]byte, 0, size), b...))
		c.tail = true
		return
	}
	c.out[last].bytes = append(c.out[last].bytes, b...)
	c.outLen += len(b)
}

// flushPushed sends what the letters brought.
func (r *runner) flushPushed() {
	l := r.l
	for i, c := range l.pushed {
		l.pushed[i] = nil
		c.pushed = false
		if !c.closed && !c.away && r.flush(c) {
			r.checkLimit(c)
		}
	}
	l.pushed = l.pushed[:0]
}
