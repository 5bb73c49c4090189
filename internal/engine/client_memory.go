package engine

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// This file counts the memory that clients take, ends the largest of them while all together take more than
// maxmemory-clients, and ends those that do not read what they asked for.

// Holding is what a connection holds for its client.
type Holding struct {
	Query     int // bytes of input that were read and not used
	Behind    int // so many of them are whole arguments of a command that is not complete
	QueryFree int // bytes of room behind them
	Output    int // bytes that the client has not taken
	Pieces    int // the output is in so many pieces
}

const (
	sessionBytes      = 1024 // about what a connection takes without its buffers
	pieceBytes        = 24   // what a piece of output takes besides its bytes
	watchBytes        = 200  // a watched key besides its name: two entries and the lists they are in
	subscriptionBytes = 200  // likewise a subscription
	prefixBytes       = 100  // likewise a prefix of CLIENT TRACKING
	queuedBytes       = 32   // a queued command without its arguments
	argumentBytes     = 24   // what an argument takes besides its bytes
)

// clientMemory is what one session takes. Its thread writes the first fields, any goroutine reads the others.
type clientMemory struct {
	held  Holding
	kept  int64 // bytes of watches, subscriptions and prefixes
	multi int64 // bytes of the queued transaction
	query int   // bytes of the input that is being executed

	total      atomic.Int64 // what the sum counts
	shownMulti atomic.Int64
	shownFree  atomic.Int32
	shownArgs  atomic.Int32
	shownParts atomic.Int32
	overSince  atomic.Int64 // monotonic time at which the output went over its soft limit, 0 while it is not
	evicted    atomic.Bool  // the session is about to end
}

// ClientMemory is the memory of all clients but replicas and the primary.
type ClientMemory struct {
	sum   atomic.Int64
	limit atomic.Int64 // maxmemory-clients in bytes, 0 for none
	share atomic.Int64 // or in percent of maxmemory

	// Evicted hears of every client that is ended for its memory. It is set before the first client comes.
	Evicted func(s *Session)

	futile atomic.Bool // nobody was left who may be ended; another look is taken when that can have changed
	mu     sync.Mutex  // one goroutine evicts at a time

	recent recentBuffers
}

// recentSeconds is for how long the largest buffers are remembered.
const recentSeconds = 8

// recentBuffers are the largest buffers of a client in the last seconds.
type recentBuffers struct {
	in, out atomic.Int64 // since the last tick
	mu      struct {
		sync.Mutex
		in, out [recentSeconds]int64
		next    int
	}
}

// raise makes n at least v.
func raise(n *atomic.Int64, v int64) {
	for old := n.Load(); v > old && !n.CompareAndSwap(old, v); old = n.Load() {
	}
}

// TickRecent ends a second of Recent.
func (m *ClientMemory) TickRecent() {
	r := &m.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.in[r.mu.next], r.mu.out[r.mu.next] = r.in.Swap(0), r.out.Swap(0)
	r.mu.next = (r.mu.next + 1) % recentSeconds
}

// Recent are the bytes of the largest input and of the largest output that a client had in the last seconds.
func (m *ClientMemory) Recent() (in, out int64) {
	r := &m.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	in, out = r.in.Load(), r.out.Load()
	for i := range recentSeconds {
		in, out = max(in, r.mu.in[i]), max(out, r.mu.out[i])
	}
	return in, out
}

// Sum is the memory of all clients but replicas and the primary, in bytes.
func (m *ClientMemory) Sum() int64 { return m.sum.Load() }

// SetClientLimit is maxmemory-clients: bytes, or else a share of maxmemory in percent. 0 is no limit.
func (e *Engine) SetClientLimit(bytes, percent int64) {
	e.ClientMemory.limit.Store(bytes)
	e.ClientMemory.share.Store(percent)
	e.LookAtClients()
}

// clientLimit is maxmemory-clients in bytes, 0 for none.
func (e *Engine) clientLimit() int64 {
	if share := e.ClientMemory.share.Load(); share > 0 {
		return e.Settings.maxMemory.Load() / 100 * share
	}
	return e.ClientMemory.limit.Load()
}

// LookAtClients ends clients if they take too much, and forgets that it was in vain the last time. The caller holds no
// lock.
func (e *Engine) LookAtClients() {
	e.ClientMemory.futile.Store(false)
	e.evictClients()
}

// Hold tells what the connection holds for its client now; on the session's thread, which holds no lock. It may end this
// client or others: false says that this one is to be closed at once.
func (s *Session) Hold(h Holding) bool {
	m := &s.memory
	total := int64(sessionBytes+h.Query+h.QueryFree+h.Output+h.Pieces*pieceBytes) + m.kept + m.multi
	if h == m.held && total == m.total.Load() {
		return !m.evicted.Load()
	}
	all := &s.e.ClientMemory
	if h.Query+h.QueryFree > m.held.Query+m.held.QueryFree {
		raise(&all.recent.in, int64(h.Query+h.QueryFree))
	}
	if h.Output > m.held.Output {
		raise(&all.recent.out, int64(h.Output))
	}
	m.held = h
	m.shownArgs.Store(int32(min(h.Behind, 1<<31-1)))
	m.shownFree.Store(int32(min(h.QueryFree, 1<<31-1)))
	m.shownParts.Store(int32(h.Pieces))
	m.shownMulti.Store(m.multi)
	if m.evicted.Load() {
		return false
	}
	all.sum.Add(total - m.total.Swap(total))
	s.e.evictClients()
	return !m.evicted.Load()
}

// keeps adds to what the session keeps besides its buffers; it is counted at the next Hold. On its thread.
func (s *Session) keeps(bytes int) { s.memory.kept += int64(bytes) }

// counted begins to count a session, uncounted ends it.
func (m *ClientMemory) counted(s *Session) {
	s.memory.total.Store(sessionBytes)
	m.sum.Add(sessionBytes)
	m.futile.Store(false)
}

func (m *ClientMemory) uncounted(s *Session) { m.sum.Add(-s.memory.total.Swap(0)) }

// evictClients ends clients, the largest first, until the others fit. They are off the list at once; their connections end
// when their threads come to it.
func (e *Engine) evictClients() {
	m := &e.ClientMemory
	over := func() bool {
		limit := e.clientLimit()
		return limit > 0 && m.sum.Load() > limit
	}
	if !over() || m.futile.Load() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !over() {
		return
	}
	list := e.Clients.All()
	sort.SliceStable(list, func(i, j int) bool { return list[i].memory.total.Load() > list[j].memory.total.Load() })
	for _, s := range list {
		if !over() {
			return
		}
		if s.Flags()&(FlagNoEvict|FlagReplica|FlagPrimary) == 0 {
			e.evictClient(s)
		}
	}
	m.futile.Store(over())
}

func (e *Engine) evictClient(s *Session) {
	s.memory.evicted.Store(true)
	if e.ClientMemory.Evicted != nil {
		e.ClientMemory.Evicted(s)
	}
	e.Stats.EvictedClients.Add(1)
	e.ClientMemory.uncounted(s)
	e.Clients.remove(s)
	s.Kill()
}

// outputClass is the row of client-output-buffer-limit for a session: 0 normal, 1 replica, 2 pubsub.
func outputClass(flags uint32) int {
	switch {
	case flags&FlagReplica != 0:
		return 1
	case flags&FlagPubSub != 0:
		return 2
	}
	return 0
}

// uncountedOutput is what may always wait for a client: in Redis it is the buffer that every client has. It does not lessen
// what is more: the blocks that Redis counts then are larger than what is in them.
const uncountedOutput = 16 << 10 // bytes

// counted is how much of what waits for a client counts towards its limit.
func counted(waiting int) int64 {
	if waiting <= uncountedOutput {
		return 0
	}
	return int64(waiting)
}

// OverHard says whether so many bytes for the client are over its hard output limit.
func (s *Session) OverHard(bytes int) bool {
	hard := s.e.Settings.OutputLimits[outputClass(s.Flags())].HardBytes.Load()
	return hard > 0 && counted(bytes) > hard
}

// OverOutput says whether the session, with so many bytes waiting for its client, is over its output limit. It remembers
// since when the soft one is passed. Any goroutine may ask.
func (s *Session) OverOutput(waiting int) bool {
	if s.OverHard(waiting) {
		return true
	}
	limit, n := &s.e.Settings.OutputLimits[outputClass(s.Flags())], counted(waiting)
	since := &s.memory.overSince
	if soft := limit.SoftBytes.Load(); soft == 0 || n <= soft {
		if since.Load() != 0 {
			since.Store(0)
		}
		return false
	}
	now := s.e.Clock.Nanos()
	if since.CompareAndSwap(0, max(now, 1)) {
		return false
	}
	return now-since.Load() > limit.SoftSeconds.Load()*int64(time.Second)
}

// CountOverOutput counts a session that is ended for its output, once however many threads notice.
func (s *Session) CountOverOutput() {
	if s.overOutput.CompareAndSwap(false, true) {
		s.e.Stats.OutputLimit.Add(1)
	}
}

// CheckOutputs ends the clients that are over their output limits although nothing was added since: the time of a soft limit
// has passed, or a limit was lowered.
func (e *Engine) CheckOutputs() {
	for _, s := range e.Clients.unsorted() {
		if s.Flags()&FlagReplica != 0 {
			continue // what is kept for it is in the log, whose reader looks for itself
		}
		if _, waiting := s.conn.Buffered(); waiting > 0 && s.OverOutput(waiting) {
			s.CountOverOutput()
			s.Kill()
		}
	}
}
