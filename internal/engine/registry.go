package engine

import (
	"sort"
	"sync"
	"sync/atomic"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/resp"
)

// Registry lists the sessions.
type Registry struct {
	nextID atomic.Int64
	count  atomic.Int64
	mu     struct { // a leaf lock
		sync.Mutex
		byID map[int64]*Session
	}
}

func (r *Registry) init() { r.mu.byID = make(map[int64]*Session) }

func (r *Registry) add(s *Session) {
	s.ID = r.nextID.Add(1)
	r.count.Add(1)
	r.mu.Lock()
	r.mu.byID[s.ID] = s
	r.mu.Unlock()
}

func (r *Registry) remove(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.mu.byID[s.ID]; ok {
		delete(r.mu.byID, s.ID)
		r.count.Add(-1)
	}
}

// Len is the number of sessions.
func (r *Registry) Len() int { return int(r.count.Load()) }

// Get finds a session by id, nil when it is gone.
func (r *Registry) Get(id int64) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.byID[id]
}

// unsorted lists the sessions.
func (r *Registry) unsorted() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Session, 0, len(r.mu.byID))
	for _, s := range r.mu.byID {
		list = append(list, s)
	}
	return list
}

// All lists the sessions by id.
func (r *Registry) All() []*Session {
	list := r.unsorted()
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}

// SessionInfo is what CLIENT LIST shows of a session, as of now.
type SessionInfo struct {
	Last                        clock.Millis
	Flags                       uint32
	DB                          int
	Queued                      int // -1 outside MULTI
	Name, LibName, LibVer, User string
	Cmd                         string // full name of the last command, "NULL" before the first
	Query, Output               int    // bytes buffered; of the session that asks, the command under way belongs to Query
	QueryFree                   int    // bytes of room for more input
	Pieces                      int    // the output is in so many pieces
	Arguments                   int    // bytes of arguments: of a command that has not come as a whole, or is under way
	Multi                       int64  // bytes of the queued transaction
	Total                       int64  // all bytes that the client takes
	Proto                       resp.Version
}

// Info reads a session. What it is doing right now is told of the session that asks.
func (c *Ctx) Info(s *Session) SessionInfo {
	info := s.Info()
	if s == c.S {
		info.Query = max(info.Query, s.memory.query)
		for _, a := range c.Args {
			info.Arguments += len(a)
		}
		info.Multi = s.memory.multi
		info.addUp(s)
	}
	return info
}

// addUp sets Total.
func (i *SessionInfo) addUp(s *Session) {
	parts := int64(sessionBytes + i.Query + i.QueryFree + i.Arguments + i.Output + i.Pieces*pieceBytes)
	i.Total = max(s.memory.total.Load(), parts+i.Multi)
}

// Info reads a session from any goroutine.
func (s *Session) Info() SessionInfo {
	info := SessionInfo{
		Last:   clock.Millis(s.last.Load()),
		Flags:  s.flags.Load(),
		DB:     int(s.shownDB.Load()),
		Queued: int(s.queued.Load()),
		Cmd:    "NULL",
		Proto:  resp.RESP2,
	}
	if cmd := s.cmd.Load(); cmd != nil {
		info.Cmd = cmd.Full
	}
	if s.flags.Load()&flagRESP3 != 0 {
		info.Proto = resp.RESP3
	}
	info.Query, info.Output = s.conn.Buffered()
	info.QueryFree, info.Pieces = int(s.memory.shownFree.Load()), int(s.memory.shownParts.Load())
	info.Arguments = min(int(s.memory.shownArgs.Load()), info.Query)
	info.Query -= info.Arguments
	info.Multi = s.memory.shownMulti.Load()
	info.addUp(s)
	s.names.Lock()
	info.Name, info.LibName, info.LibVer = s.names.name, s.names.libName, s.names.libVer
	s.names.Unlock()
	if a := s.Account(); a != nil {
		info.User = a.Name()
	}
	return info
}

// flagRESP3 marks sessions that speak RESP3; it has no letter in CLIENT LIST.
const flagRESP3 uint32 = 1 << 31

// SetProto is HELLO's protocol switch; on the session's thread.
func (s *Session) SetProto(v resp.Version) {
	s.proto = v
	s.setFlag(flagRESP3, v == resp.RESP3)
}

// SetName is CLIENT SETNAME.
func (s *Session) SetName(name string) {
	s.names.Lock()
	s.names.name = name
	s.names.Unlock()
}

// SetLib is CLIENT SETINFO.
func (s *Session) SetLib(name, version *string) {
	s.names.Lock()
	defer s.names.Unlock()
	if name != nil {
		s.names.libName = *name
	}
	if version != nil {
		s.names.libVer = *version
	}
}

// Flags are the session's flags; any goroutine may ask.
func (s *Session) Flags() uint32 { return s.flags.Load() }

// Kill ends the session from any goroutine. From now on nobody serves it what it blocks on.
func (s *Session) Kill() {
	if w, kind := s.waiting(); kind == WaitKeys {
		s.wait.end(w.token)
	}
	s.killed.Store(true)
	s.conn.CloseSoon(false)
}

// Killed says that the session was ended by Kill, though its connection may be open still.
func (s *Session) Killed() bool { return s.killed.Load() }

// Conn is the session's transport.
func (s *Session) Conn() Conn { return s.conn }

// SetFlag sets or clears flags that CLIENT LIST shows.
func (s *Session) SetFlag(f uint32, on bool) { s.setFlag(f, on) }

// SetReadOnly is READONLY and READWRITE.
func (s *Session) SetReadOnly(on bool) {
	s.readonly = on
	s.setFlag(FlagReadOnly, on)
}

// SetAsking is ASKING: the next command may use a slot that is being imported.
func (s *Session) SetAsking() { s.asking = true }

// SetNoTouch is CLIENT NO-TOUCH.
func (s *Session) SetNoTouch(on bool) {
	s.noTouch = on
	s.setFlag(FlagNoTouch, on)
}

// SetNoEvict is CLIENT NO-EVICT.
func (s *Session) SetNoEvict(on bool) {
	s.setFlag(FlagNoEvict, on)
	if !on {
		s.e.LookAtClients()
	}
}

// ReplyOn, ReplyOff and ReplySkip are CLIENT REPLY.
func (s *Session) ReplyOn()  { s.replyMode = replyOn }
func (s *Session) ReplyOff() { s.replyMode = replyOff }
func (s *Session) ReplySkip() {
	if s.replyMode != replyOff {
		s.replyMode = replySkipNext
	}
}

// Hijack takes the connection away from its loop once the command is finished: PSYNC.
func (c *Ctx) Hijack(take func(raw Raw, unread []byte)) {
	c.S.state = stateTaken
	c.S.conn.Hijack(take)
}

// ResetState is RESET: everything a client may have set returns to the start.
func (c *Ctx) ResetState() {
	s := c.S
	if s.multi != nil {
		c.endMulti()
	}
	s.unwatch(c.held)
	s.unsubscribeAll()
	s.endMonitor()
	s.EndTracking()
	s.SetProto(resp.RESP2)
	s.SelectDB(0)
	s.SetName("")
	s.SetReadOnly(false)
	s.SetNoEvict(false)
	s.SetNoTouch(false)
	s.asking = false
	s.attached = nil
	s.replyMode = replyOn
	s.Logout()
}
