package engine

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/resp"
)

// Conn is what a session needs of its transport.
type Conn interface {
	// Post runs fn on the thread that owns the session; it does nothing when the connection is gone. Any goroutine may
	// call it. Afterwards the transport sends what fn left in the worker's Out and goes on with the session's input.
	Post(fn func(w *Worker))
	// CloseSoon ends the connection from any goroutine, after what was already replied was sent when flush is set.
	CloseSoon(flush bool)
	// Hijack takes the connection from its loop; called on the session's thread, from a handler. Replies so far are sent
	// first; then take gets the raw connection and the input that was read but not used.
	Hijack(take func(raw Raw, unread []byte))
	// Buffered tells how many bytes wait in the query and in the output buffer. Any goroutine may call it.
	Buffered() (query, output int)
}

// Raw is a connection without a loop: blocking reads and writes with deadlines.
type Raw interface {
	Read(b []byte) (int, error)
	Write(b []byte) (int, error)
	Close() error
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// Peer describes where a connection comes from.
type Peer struct {
	Remote, Local string // "127.0.0.1:5000" or the path of a Unix socket with ":0"
	Unix          bool
	TLS           bool
	Loopback      bool
	FD            int
}

// Session is one client's conversation. Only the thread that owns the connection touches it, except the fields that say
// otherwise.
type Session struct {
	ID      int64
	Peer    Peer
	Created clock.Millis

	e        *Engine
	conn     Conn
	parser   resp.Parser
	proto    resp.Version
	db       int
	loggedIn bool

	state       sessionState
	asking      bool // ASKING precedes the next command
	readonly    bool // READONLY: replicas may serve
	noTouch     bool
	primaryLink bool // carries the stream of this node's primary, or an append-only file
	replay      bool // and then the latter: nothing of it goes to the log
	inScript    bool // is that of a script
	replyMode   replyMode
	more        bool   // Process stopped before it had seen all input
	long        bool   // and that before a command that is known to take long
	parks       uint8  // how often the command under way has waited for a shard that was taken
	written     Offset // log offset behind the last write, for WAIT and the gate

	multi    *multi // queued transaction, nil outside
	watching []*watch
	killed   atomic.Bool     // by Kill, on any thread
	over     <-chan struct{} // of a primary's link: closed under all shard locks, or before they are taken, when the role changes

	client   *Session                    // of a script's session: whose script it is
	attached any                         // see Attach
	account  atomic.Pointer[acl.Account] // whom the session acts as; its thread sets it, any goroutine reads

	wait waitState
	subs subscriptions

	memory   clientMemory
	tracking tracking

	overOutput atomic.Bool // its output was more than the limit allows: it is being ended
	pusher     Pusher      // the connection, if it can

	// Shown by CLIENT LIST: any goroutine reads.
	last    atomic.Int64 // time of the last batch
	cmd     atomic.Pointer[Command]
	flags   atomic.Uint32
	shownDB atomic.Int32
	queued  atomic.Int32 // commands queued in MULTI, -1 outside
	names   struct {
		sync.Mutex
		name, libName, libVer string
	}
}

// Session flags that CLIENT LIST shows as letters and CLIENT KILL TYPE filters by.
const (
	FlagReplica        uint32 = 1 << iota // S
	FlagPrimary                           // M
	FlagPubSub                            // P
	FlagMulti                             // x
	FlagBlocked                           // b
	FlagWatchBroken                       // d, set by any thread that holds the shard lock of a watched key
	FlagClosing                           // c, after the reply
	FlagReadOnly                          // r
	FlagUnix                              // U
	FlagNoEvict                           // e
	FlagNoTouch                           // T
	FlagMonitor                           // O
	FlagTracking                          // t
	FlagTrackingBroken                    // R
	FlagBroadcast                         // B
	FlagTimed                             // blocked, and not for ever; it has no letter
)

type sessionState uint8

const (
	stateOpen    sessionState = iota
	stateWaiting              // suspended: input is not processed
	stateClosing              // after the output is sent
	stateTaken                // hijacked: the transport must let go
)

type replyMode uint8

const (
	replyOn replyMode = iota
	replyOff
	replySkipNext // CLIENT REPLY SKIP was sent: the next command stays unanswered
	replySkipThis
)

// NewSession registers a client. The transport calls Close when the connection ended.
func (e *Engine) NewSession(conn Conn, peer Peer) *Session {
	s := &Session{e: e, conn: conn, Peer: peer, proto: resp.RESP2, Created: e.Clock.Now()}
	s.pusher, _ = conn.(Pusher)
	s.queued.Store(-1)
	if peer.Unix {
		s.setFlag(FlagUnix, true)
	}
	s.Logout()
	s.last.Store(int64(s.Created))
	e.ClientMemory.counted(s)
	e.Clients.add(s)
	e.Stats.Connections.Add(1)
	return s
}

// NewPrimaryLink makes the session that applies a primary's stream: no checks, writes allowed, bytes passed on as they are. When
// over, which may be nil, is closed it changes nothing any more.
func (e *Engine) NewPrimaryLink(conn Conn, peer Peer, over <-chan struct{}) *Session {
	s := e.NewSession(conn, peer)
	s.over = over
	s.loggedIn, s.primaryLink = true, true
	s.account.Store(nil)
	s.parser.Limits.Unauthenticated = false
	s.parser.Limits.MaxBulk = math.MaxInt64
	s.replyMode = replyOff
	s.setFlag(FlagPrimary, true)
	return s
}

// linkOver says, under the locks of a command, whether the link that it came over counts no more.
func (s *Session) linkOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// SelectDB sets the database without a command: a primary's link continues where its stream stands.
func (s *Session) SelectDB(db int) {
	s.db = db
	s.shownDB.Store(int32(db))
}

// Close ends the session; the connection is gone.
func (s *Session) Close() {
	s.wait.cancel(s)
	s.unwatch(0)
	s.unsubscribeAll()
	s.endMonitor()
	s.EndTracking()
	s.multi = nil
	s.e.Clients.remove(s)
	s.e.ClientMemory.uncounted(s)
}

// Open says whether the session takes more input now.
func (s *Session) Open() bool { return s.state == stateOpen }

// Closing says whether the connection is to be closed once the output is sent.
func (s *Session) Closing() bool { return s.state == stateClosing }

// Taken says whether the connection was hijacked.
func (s *Session) Taken() bool { return s.state == stateTaken }

// Written is the log offset behind the session's last write.
func (s *Session) Written() Offset { return s.written }

// Need is how many more input bytes the command under way needs, 0 when unknown.
func (s *Session) Need() int { return s.parser.Need() }

// Behind is how many bytes of the input that was not used are whole arguments of the command under way.
func (s *Session) Behind() int { return s.parser.Behind() }

func (s *Session) setFlag(f uint32, on bool) {
	if on {
		s.flags.Or(f)
		return
	}
	s.flags.And(^f)
}

// visitOutputBytes is how much output one visit of Process may collect before the transport sends it, so that a deep
// pipeline of large reads does not pile up while its loop serves nobody else.
const visitOutputBytes = 1 << 20

// Attach gives the session something of a command family to keep, and Attached returns it; on the session's thread.
func (s *Session) Attach(v any)  { s.attached = v }
func (s *Session) Attached() any { return s.attached }

// ProcessTaken is Process for a connection that was hijacked; only who has it may call this.
func (s *Session) ProcessTaken(w *Worker, in []byte) int {
	s.state = stateOpen
	defer func() { s.state = stateTaken }()
	return s.Process(w, in)
}

// Process executes the commands in in and returns how many bytes it used. The rest must be the start of in at the next
// call. Replies are in w.Out. It returns early when the session is suspended, closed or taken, or has much to send.
func (s *Session) Process(w *Worker, in []byte) int {
	c := &w.ctx
	start := w.nanos()
	c.S, c.Now = s, w.now(start)
	s.last.Store(int64(c.Now))
	used := 0
	s.more, s.long = true, false
	s.memory.query = len(in)
	s.parser.Limits.Patience = 0
	if w.Shared {
		s.parser.Limits.Patience = manyWords
	}
	if recent := &s.e.ClientMemory.recent.in; int64(len(in)) > recent.Load() {
		raise(recent, int64(len(in)))
	}
	if !s.primaryLink {
		s.parser.Limits.MaxBulk = s.e.Settings.MaxBulk.Load()
	}
	for used < len(in) && s.state == stateOpen && w.Out.Len() < visitOutputBytes {
		n, err := c.take(in[used:])
		if err != nil {
			c.protocolError(err)
			used = len(in)
			break
		}
		if n == 0 {
			s.long = s.parser.Waits()
			s.more = s.long
			break
		}
		if len(c.Args) > 0 {
			before := len(c.raw)
			if s.primaryLink {
				c.keepRaw(in[used : used+n])
			}
			c.input.end = used + n
			var again bool
			if start, again = c.execute(start); again {
				c.raw, c.rawBig = c.raw[:before], nil
				break
			}
			c.settleRaw()
			if c.input.taken {
				used += n
				break
			}
		} else if s.primaryLink {
			c.raw = append(c.raw, in[used:used+n]...)
		}
		used += n
	}
	w.kick()
	w.ahead.end(in)
	c.S, c.Args, c.seen = nil, nil, nil
	return used
}

// More says whether the last Process left off because of its bounds and not for want of bytes: call it again.
func (s *Session) More() bool { return s.more }

func (c *Ctx) protocolError(err error) {
	c.Err("ERR " + err.Error())
	c.S.closeAfterReply()
}

func (s *Session) closeAfterReply() {
	s.state = stateClosing
	s.setFlag(FlagClosing, true)
}

// CloseAfterReply ends the connection once the reply is sent (QUIT).
func (c *Ctx) CloseAfterReply() { c.S.closeAfterReply() }
