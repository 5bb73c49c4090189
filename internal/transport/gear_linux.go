package transport

import "fmt"

// gear is how a runner moves bytes: what differs between epoll and io_uring. It belongs to the runner in charge of a loop.
type gear interface {
	// take makes the gear the calling thread's; r has just been put in charge of its loop.
	take(r *runner)
	// poll returns how many events are ready, after a wait as long as patience says.
	poll(p patience) int
	// serve serves that many events; false when the runner lost the loop.
	serve(r *runner, n int) bool
	// watch begins with a connection.
	watch(c *conn) error
	// rearm sees to it that the loop hears what the connection waits for: input only while it would be read, so that a
	// client whose input has to wait does not keep the loop awake, and room for output while output waits.
	rearm(c *conn)
	// reply sends b, of which it keeps nothing, now or at the end of the round. It returns how many bytes need no more care,
	// -1 when the connection is broken (and closed).
	reply(r *runner, c *conn, b []byte) int
	// leave forgets a connection whose descriptor will be closed next.
	leave(c *conn)
	// release stops reading a connection that is to be given away. When it returns false, input may still be under way;
	// then the gear calls giveAway later.
	release(c *conn) bool
	// back goes on with a connection that was away; r is in charge of its loop.
	back(r *runner, c *conn)
	// successor is the gear for the next runner of the loop, whose present one is in a long batch. Any thread may call it.
	successor() (gear, error)
	// discard gives up a successor that was not needed.
	discard()
	// end gives up what the runner's successor did not take over. last says that it has none.
	end(last bool)
}

// patience says how long a runner waits for events.
type patience uint8

const (
	noWait    patience = iota
	briefWait          // a few milliseconds, unknown to the scheduler
	longWait
)

// choose finds out what auto means on this machine; why says what speaks against io_uring.
func choose(b Backend) (chosen Backend, why, err error) {
	switch b {
	case Epoll:
		return Epoll, nil, nil
	case Uring, Auto, "":
	default:
		return "", nil, fmt.Errorf("unknown I/O backend %q", string(b))
	}
	why = tryRing()
	switch {
	case why == nil:
		return Uring, nil, nil
	case b == Uring:
		return "", nil, fmt.Errorf("I/O backend io_uring: %w", why)
	}
	return Epoll, why, nil
}

// newGear makes the first gear of a loop.
func newGear(b Backend, l *loop) (gear, error) {
	if b == Uring {
		return newRingGear(l)
	}
	return newPollGear(l)
}
