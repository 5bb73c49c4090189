package replication

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
)

// Handlers are the commands of replication.
func (m *Manager) Handlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"psync":     {Run: m.cmdPSync},
		"sync":      {Run: m.cmdPSync},
		"replconf":  {Run: m.cmdReplConf},
		"replicaof": {Run: m.cmdReplicaOf, Scope: engine.ScopeWhole},
		"slaveof":   {Run: m.cmdReplicaOf, Scope: engine.ScopeWhole},
		"role":      {Run: m.cmdRole},
		"failover":  {Run: m.cmdFailover},
		"wait":      {Run: m.cmdWait},
		"waitaof":   {Run: m.cmdWaitFile},
	}
}

func (m *Manager) cmdPSync(c *engine.Ctx) {
	if _, going := m.failingOver(); going {
		c.Err("NOMASTERLINK Can't SYNC while failing over")
		return
	}
	if len(c.Args) > 3 && c.ArgIs(3, "FAILOVER") {
		if text := m.takeOver(string(c.Args[1])); text != "" {
			c.Err(text)
			return
		}
	}
	if m.e.Role.IsReplica() && !m.LinkUp() {
		c.Err("NOMASTERLINK Can't SYNC while not connected with my master")
		return
	}
	old := len(c.Args) == 1 // SYNC: neither an answer line nor acknowledgements
	id, wanted := "?", int64(-1)
	if !old {
		n, ok := num.ParseInt(c.Args[2])
		if !ok {
			m.log.Warn("Replica " + c.S.Peer.Remote + " asks for synchronization but with a wrong offset")
			c.Err(engine.ErrNotInteger)
			return
		}
		id, wanted = string(c.Args[1]), n
	}
	r := &replica{m: m, id: c.S.ID, s: c.S, old: old, fresh: make(chan struct{}, 1), ended: make(chan struct{})}
	c.Hijack(func(raw engine.Raw, unread []byte) {
		r.raw = raw
		m.wg.Add(1)
		defer m.wg.Done()
		if m.ctx.Err() != nil {
			raw.Close()
			return
		}
		m.serve(r, unread, id, wanted)
	})
}

// takeHints returns what REPLCONF told on a connection; mu is held.
func (m *Manager) takeHints(id int64) hints {
	h := m.mu.hints[id]
	delete(m.mu.hints, id)
	if h == nil {
		return hints{}
	}
	return *h
}

// hintsMax bounds the connections that have sent REPLCONF and never PSYNC.
const hintsMax = 10000

func (m *Manager) cmdReplConf(c *engine.Ctx) {
	if len(c.Args)%2 == 0 {
		c.Err(engine.ErrSyntax)
		return
	}
	if len(c.Args) > 1 && c.ArgIs(1, "GETACK") {
		if c.FromPrimary() {
			m.sendAck()
		}
		return
	}
	if len(c.Args) > 1 && c.ArgIs(1, "ACK") {
		return // on a link this never comes here
	}
	m.mu.Lock()
	if len(m.mu.hints) > hintsMax {
		clear(m.mu.hints)
	}
	h := m.mu.hints[c.S.ID]
	if h == nil {
		h = &hints{}
		m.mu.hints[c.S.ID] = h
	}
	text := h.learn(c)
	m.mu.Unlock()
	if text != "" {
		c.Err(text)
		return
	}
	c.OK()
}

// learn notes pairs of option and value; it returns the text of an error, or "".
func (h *hints) learn(c *engine.Ctx) string {
	for i := 1; i+1 < len(c.Args); i += 2 {
		value := c.Args[i+1]
		switch {
		case c.ArgIs(i, "LISTENING-PORT"):
			n, ok := num.ParseInt(value)
			if !ok {
				return engine.ErrNotInteger
			}
			h.port = int(n)
		case c.ArgIs(i, "IP-ADDRESS"):
			if len(value) > 255 {
				return "ERR REPLCONF ip-address provided by replica instance is too long: " + strconv.Itoa(len(value)) + " bytes"
			}
			h.ip = string(value)
		case c.ArgIs(i, "CAPA"):
			h.eof = h.eof || engine.FoldEqual(value, "EOF")
			h.psync2 = h.psync2 || engine.FoldEqual(value, "PSYNC2")
		case c.ArgIs(i, "RDB-ONLY"):
			n, ok := num.ParseInt(value)
			switch {
			case !ok:
				return engine.ErrNotInteger
			case n < 0 || n > 1:
				return errNotBit
			}
			h.rdbOnly = n == 1
		case c.ArgIs(i, "RDB-FILTER-ONLY"):
			if text := h.filter(string(value)); text != "" {
				return text
			}
		default:
			return fmt.Sprintf("ERR Unrecognized REPLCONF option: %s", c.Args[i])
		}
	}
	return ""
}

// filter notes what the snapshot is to contain, and nothing else: the functions, or nothing at all.
func (h *hints) filter(parts string) string {
	h.only, h.functions = true, false
	for part := range strings.FieldsSeq(parts) {
		if !strings.EqualFold(part, "functions") {
			return "ERR Unsupported rdb-filter-only option: " + part
		}
		h.functions = true
	}
	return ""
}

func (m *Manager) cmdReplicaOf(c *engine.Ctx) {
	if m.opts.Settings().ClusterOwned {
		c.Err("ERR REPLICAOF not allowed in cluster mode.")
		return
	}
	if _, going := m.failingOver(); going {
		c.Err(errFollowAmidFailover)
		return
	}
	if c.ArgIs(1, "NO") && c.ArgIs(2, "ONE") {
		m.promoteFor(c)
		c.OK()
		return
	}
	port, ok := num.ParseInt(c.Args[2])
	if !ok || port < 0 || port > 65535 {
		c.Err("ERR Invalid master port")
		return
	}
	addr := net.JoinHostPort(string(c.Args[1]), strconv.Itoa(int(port)))
	if m.Primary() == addr {
		c.Simple("OK Already connected to specified master")
		return
	}
	follow := m.Follow
	if c.InExec() {
		follow = func(addr string) bool { return m.followLocked(addr, nil) }
	}
	if !follow(addr) { // it has begun meanwhile
		c.Err(errFollowAmidFailover)
		return
	}
	c.OK()
}

// promoteFor is REPLICAOF NO ONE. EXEC holds the locks already, so it cannot wait for the link to end.
func (m *Manager) promoteFor(c *engine.Ctx) {
	if !c.InExec() {
		m.Promote()
	} else if m.unfollow() != nil {
		m.promoteLocked()
	}
}

func (m *Manager) cmdRole(c *engine.Ctx) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.mu.follow; f != nil {
		host, port, _ := net.SplitHostPort(f.addr)
		n, _ := strconv.Atoi(port)
		c.Array(5)
		c.BulkString("slave")
		c.BulkString(host)
		c.ReplyInt(int64(n))
		c.BulkString(f.phase().String())
		if f.phase() == linkConnected {
			c.ReplyInt(m.e.Log.End())
		} else {
			c.ReplyInt(-1)
		}
		return
	}
	c.Array(3)
	c.BulkString("master")
	c.ReplyInt(m.e.Log.End())
	list := m.onlineLocked()
	c.Array(len(list))
	for _, r := range list {
		host, port := cutPort(r.name())
		c.Array(3)
		c.BulkString(host)
		c.BulkString(port)
		c.BulkString(strconv.FormatInt(r.ack.Load(), 10))
	}
}
