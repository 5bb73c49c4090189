package engine

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/covey-db/covey/internal/resp"
)

// This file holds client-side caching: the node remembers which clients have read which keys, and tells them when those
// change.
//
// What a client has read is noted under the lock of the key's shard, before the reply leaves, and a change looks it up under
// the same lock. So no change can slip in between. A message goes by way of the receiver's own thread, behind the replies
// that are under way.

// TrackingMode is how a session wants to hear of changes.
type TrackingMode struct {
	Broadcast bool // of all keys with certain prefixes, read or not
	OptIn     bool // only of keys read by the command behind CLIENT CACHING YES
	OptOut    bool // not of keys read by the command behind CLIENT CACHING NO
	NoLoop    bool // not of its own changes
	Redirect  int64
	Prefixes  []string
}

// tracking is what a session has asked for. Its thread changes it; other threads read what is atomic.
type tracking struct {
	mode     TrackingMode
	caching  bool // CLIENT CACHING was sent for the next command
	redirect atomic.Int64
	noLoop   atomic.Bool
}

// Tracking is who wants to hear of changes.
type Tracking struct {
	active  atomic.Int32 // sessions that track
	keys    atomic.Int64 // keys that somebody has read
	items   atomic.Int64 // pairs of key and reader
	keysMax atomic.Int64 // tracking-table-max-keys; 0 is no limit

	prefixes struct { // a leaf lock
		sync.RWMutex
		byText map[string]map[*Session]bool
	}
}

// trackingKeysMax is the default of tracking-table-max-keys.
const trackingKeysMax = 1000000

// SetTrackingMax is tracking-table-max-keys. What is remembered beyond it is said to have changed.
func (e *Engine) SetTrackingMax(n int64) {
	t := &e.Tracking
	t.keysMax.Store(n)
	if n == 0 || t.keys.Load() <= n {
		return
	}
	w := e.NewWorker()
	defer w.Drop()
	c := w.background()
	for i := 0; i < len(e.shards) && t.keys.Load() > n; i++ {
		c.withFreeShard(i, func(s *Shard) bool {
			for name := range s.tracked {
				if t.keys.Load() <= n {
					break
				}
				c.invalidate(s, []byte(name), true)
			}
			return true
		})
	}
}

// Clients, Keys, Items and Prefixes are figures for INFO.
func (t *Tracking) Clients() int64 { return int64(t.active.Load()) }
func (t *Tracking) Keys() int64    { return t.keys.Load() }
func (t *Tracking) Items() int64   { return t.items.Load() }
func (t *Tracking) Prefixes() int64 {
	t.prefixes.RLock()
	defer t.prefixes.RUnlock()
	return int64(len(t.prefixes.byText))
}

// TrackingMode is what the session has asked for; false when it does not track. On its thread.
func (s *Session) TrackingMode() (TrackingMode, bool) {
	return s.tracking.mode, s.flags.Load()&FlagTracking != 0
}

// Caching says whether CLIENT CACHING holds for the next command.
func (s *Session) Caching() bool { return s.tracking.caching }

// SetCaching is CLIENT CACHING.
func (s *Session) SetCaching() { s.tracking.caching = true }

// Redirect is the session that gets the messages instead; 0 for itself, -1 when the session does not track. Any goroutine
// may ask.
func (s *Session) Redirect() int64 {
	if s.flags.Load()&FlagTracking == 0 {
		return -1
	}
	return s.tracking.redirect.Load()
}

// Track makes the session hear of changes. Prefixes of an earlier call stay.
func (s *Session) Track(m TrackingMode) {
	t := &s.e.Tracking
	if s.flags.Load()&FlagTracking == 0 {
		t.active.Add(1)
	}
	old := s.tracking.mode.Prefixes
	s.tracking.redirect.Store(m.Redirect)
	s.tracking.noLoop.Store(m.NoLoop)
	if m.Broadcast {
		if len(m.Prefixes) == 0 {
			m.Prefixes = []string{""}
		}
		t.prefixes.Lock()
		for _, p := range m.Prefixes {
			if t.prefixes.byText == nil {
				t.prefixes.byText = make(map[string]map[*Session]bool)
			}
			if t.prefixes.byText[p] == nil {
				t.prefixes.byText[p] = make(map[*Session]bool)
			}
			t.prefixes.byText[p][s] = true
			s.keeps(prefixBytes + len(p))
		}
		t.prefixes.Unlock()
		m.Prefixes = append(old, m.Prefixes...)
	}
	s.tracking.mode = m
	s.setFlag(FlagTracking, true)
	s.setFlag(FlagTrackingBroken, false)
	s.setFlag(FlagBroadcast, m.Broadcast)
}

// EndTracking makes the session hear of nothing any more. What it has read is forgotten when it changes.
func (s *Session) EndTracking() {
	if s.flags.Load()&FlagTracking == 0 {
		return
	}
	t := &s.e.Tracking
	t.active.Add(-1)
	t.prefixes.Lock()
	for _, p := range s.tracking.mode.Prefixes {
		s.keeps(-prefixBytes - len(p))
		delete(t.prefixes.byText[p], s)
		if len(t.prefixes.byText[p]) == 0 {
			delete(t.prefixes.byText, p)
		}
	}
	t.prefixes.Unlock()
	s.tracking.mode, s.tracking.caching = TrackingMode{}, false
	s.tracking.redirect.Store(0)
	s.setFlag(FlagTracking|FlagTrackingBroken|FlagBroadcast, false)
}

// readers are the sessions that have read a key, by ID: a session that is gone must not be kept.
type readers map[int64]struct{}

// remember notes that a client has read the keys of the command that has just run; their shards are still locked.
func (c *Ctx) remember(reader *Session) {
	if reader.flags.Load()&(FlagTracking|FlagBroadcast) != FlagTracking || !c.Cmd.readonly || c.Cmd.shardPubSub || c.Cmd.runsCode {
		return
	}
	m := &reader.tracking.mode
	if m.OptIn && !reader.tracking.caching || m.OptOut && reader.tracking.caching {
		return
	}
	t := &c.e.Tracking
	for i := range c.keys {
		s := c.Shard(i)
		if s.tracked == nil {
			s.tracked = make(map[string]readers)
		}
		name := string(c.keys[i].Bytes)
		if s.tracked[name] == nil {
			s.tracked[name] = make(readers)
			t.keys.Add(1)
		}
		if _, known := s.tracked[name][reader.ID]; !known {
			s.tracked[name][reader.ID] = struct{}{}
			t.items.Add(1)
		}
		c.keepTableSmall(s, name)
	}
}

// keepTableSmall makes clients forget another key when too many are remembered.
func (c *Ctx) keepTableSmall(s *Shard, fresh string) {
	t := &c.e.Tracking
	most := t.keysMax.Load()
	if most == 0 || t.keys.Load() <= most {
		return
	}
	for name := range s.tracked { // any one
		if name != fresh {
			c.invalidate(s, []byte(name), true)
			return
		}
	}
}

// changedForTrackers tells who has read a key of a locked shard, or listens to its prefix, that it has changed.
func (c *Ctx) changedForTrackers(s *Shard, key []byte) {
	c.invalidate(s, key, false)
	t := &c.e.Tracking
	t.prefixes.RLock()
	defer t.prefixes.RUnlock()
	for p := range t.prefixes.byText {
		if strings.HasPrefix(string(key), p) {
			b := broadcastKey{prefix: p, key: string(key)}
			if !c.nobody {
				b.by = c.S.speaker()
			}
			c.W.broadcast = append(c.W.broadcast, b)
		}
	}
}

// speaker is the client in whose name the session acts.
func (s *Session) speaker() *Session {
	if s.client != nil {
		return s.client
	}
	return s
}

// invalidate tells the readers of a key that it has changed, and forgets them. forgotten says that nobody has changed it.
func (c *Ctx) invalidate(s *Shard, name []byte, forgotten bool) {
	list := s.tracked[string(name)]
	if list == nil {
		return
	}
	delete(s.tracked, string(name))
	c.e.Tracking.keys.Add(-1)
	c.e.Tracking.items.Add(-int64(len(list)))
	keys := []string{string(name)}
	for id := range list {
		reader := c.e.Clients.Get(id)
		if reader == nil || reader.flags.Load()&(FlagTracking|FlagBroadcast) != FlagTracking {
			continue
		}
		own := reader == c.S.speaker()
		switch {
		case own && !forgotten && !c.nobody && reader.tracking.noLoop.Load():
		case own && c.early && reader.tracking.redirect.Load() == 0:
			c.W.Out.buf = appendInvalidation(c.W.Out.buf, reader, false, keys)
		case own:
			c.W.invalid = append(c.W.invalid, keys[0])
		default:
			c.e.sendInvalidation(reader, keys)
		}
	}
}

// tellOwnInvalidations tells a session of the keys that its own command has changed, behind the reply.
func (w *Worker) tellOwnInvalidations(s *Session) {
	for _, key := range w.invalid {
		w.e.sendInvalidation(s, []string{key})
	}
	clear(w.invalid)
	w.invalid = w.invalid[:0]
}

// broadcastKey is a changed key that somebody listens to by its prefix.
type broadcastKey struct {
	prefix, key string
	by          *Session // nil for nobody
}

// broadcastChanges tells what the commands of a batch have changed to those who listen to prefixes: one message a prefix.
func (w *Worker) broadcastChanges() {
	list := w.broadcast
	w.broadcast = w.broadcast[:0]
	t := &w.e.Tracking
	done := make(map[string]bool)
	for i, b := range list {
		if done[b.prefix] {
			continue
		}
		done[b.prefix] = true
		t.prefixes.RLock()
		var listeners []*Session
		for s := range t.prefixes.byText[b.prefix] {
			listeners = append(listeners, s)
		}
		t.prefixes.RUnlock()
		for _, s := range listeners {
			w.e.sendInvalidation(s, changedFor(s, b.prefix, list[i:]))
		}
	}
	clear(list)
}

// changedFor is what of a list a listener of a prefix is to hear, each key once. It is empty, not nil, when there is nothing.
func changedFor(s *Session, prefix string, list []broadcastKey) []string {
	keys := []string{}
	seen := make(map[string]bool)
	for _, b := range list {
		if b.prefix != prefix || seen[b.key] || b.by == s && s.tracking.noLoop.Load() {
			continue
		}
		seen[b.key] = true
		keys = append(keys, b.key)
	}
	return keys
}

// ForgetAll tells all who track that every key may have changed, and forgets what they have read. All shards are locked.
func (e *Engine) ForgetAll() {
	t := &e.Tracking
	if t.active.Load() == 0 && t.keys.Load() == 0 {
		return
	}
	for i := range e.shards {
		e.shards[i].tracked = nil
	}
	t.keys.Store(0)
	t.items.Store(0)
	for _, s := range e.Clients.All() {
		if s.flags.Load()&FlagTracking != 0 {
			e.sendInvalidation(s, nil)
		}
	}
}

const invalidateChannel = "__redis__:invalidate"

// sendInvalidation tells a session, or whom it redirects to, that keys have changed; nil means all. Nothing is told when the
// list is empty.
func (e *Engine) sendInvalidation(s *Session, keys []string) {
	if keys != nil && len(keys) == 0 {
		return
	}
	to, redirect := s, s.tracking.redirect.Load()
	if redirect != 0 {
		if to = e.Clients.Get(redirect); to == nil {
			e.tellBroken(s, redirect)
			return
		}
	}
	to.conn.Post(func(w *Worker) {
		if redirect == 0 && s.flags.Load()&FlagTracking == 0 {
			return // it does not want to hear it any more
		}
		w.Out.buf = appendInvalidation(w.Out.buf, to, redirect != 0, keys)
	})
}

// appendInvalidation encodes the message for a session, on its thread. Without RESP3 there is none, unless the session takes
// the messages of another one as a subscriber: RESP2 cannot tell a message from a reply.
func appendInvalidation(b []byte, to *Session, redirected bool, keys []string) []byte {
	switch {
	case to.proto == resp.RESP3:
		b = resp.AppendPush(b, resp.RESP3, 2)
		b = resp.AppendBulkString(b, "invalidate")
	case redirected && to.flags.Load()&FlagPubSub != 0:
		b = resp.AppendArray(b, 3)
		b = resp.AppendBulkString(b, "message")
		b = resp.AppendBulkString(b, invalidateChannel)
	default:
		return b
	}
	if keys == nil {
		return resp.AppendNull(b, to.proto)
	}
	b = resp.AppendArray(b, len(keys))
	for _, k := range keys {
		b = resp.AppendBulkString(b, k)
	}
	return b
}

// tellBroken tells a session that whoever was to get its messages is gone.
func (e *Engine) tellBroken(s *Session, redirect int64) {
	s.setFlag(FlagTrackingBroken, true)
	s.conn.Post(func(w *Worker) {
		if s.proto != resp.RESP3 {
			return
		}
		b := resp.AppendPush(w.Out.buf, resp.RESP3, 2)
		b = resp.AppendBulkString(b, "tracking-redir-broken")
		w.Out.buf = resp.AppendInt(b, redirect)
	})
}
