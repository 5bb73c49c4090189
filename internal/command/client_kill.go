package command

import (
	"strings"

	"github.com/covey-db/covey/internal/engine"
)

// This file holds CLIENT KILL.

// killFilter are the conditions of one CLIENT KILL; all must hold.
type killFilter struct {
	id          int64 // 0: any
	addr, laddr string
	user        string
	kind        clientKind
	skipMe      bool
}

func (f *killFilter) matches(s *engine.Session, me *engine.Session) bool {
	info := s.Info()
	switch {
	case f.id != 0 && s.ID != f.id,
		f.addr != "" && s.Peer.Remote != f.addr,
		f.laddr != "" && s.Peer.Local != f.laddr,
		f.user != "" && info.User != f.user,
		f.kind != "" && kindOf(info.Flags) != f.kind,
		f.skipMe && s == me:
		return false
	}
	return true
}

func cmdClientKill(c *engine.Ctx) {
	if len(c.Args) == 3 {
		f := killFilter{addr: string(c.Args[2])}
		if killAll(c, &f) == 0 {
			c.Err("ERR No such client")
			return
		}
		c.OK()
		return
	}
	f, ok := parseKill(c)
	if ok {
		c.ReplyInt(killAll(c, &f))
	}
}

func parseKill(c *engine.Ctx) (f killFilter, ok bool) {
	f.skipMe = true
	if len(c.Args)%2 != 0 {
		c.Err(engine.ErrSyntax)
		return f, false
	}
	for i := 2; i < len(c.Args); i += 2 {
		if text := f.learn(c, i); text != "" {
			c.Err(text)
			return f, false
		}
	}
	return f, true
}

// learn reads one filter; it returns the text of an error, or "".
func (f *killFilter) learn(c *engine.Ctx, i int) string {
	value := c.Args[i+1]
	switch {
	case c.ArgIs(i, "ID"):
		id, ok := parsePositive(value)
		if !ok {
			return "ERR client-id should be greater than 0"
		}
		f.id = id
	case c.ArgIs(i, "TYPE"):
		kind, ok := kindByWord(value)
		if !ok {
			return "ERR Unknown client type '" + string(value) + "'"
		}
		f.kind = kind
	case c.ArgIs(i, "ADDR"):
		f.addr = string(value)
	case c.ArgIs(i, "LADDR"):
		f.laddr = string(value)
	case c.ArgIs(i, "USER"):
		if string(value) != "default" {
			return "ERR No such user '" + string(value) + "'"
		}
		f.user = string(value)
	case c.ArgIs(i, "SKIPME"):
		switch strings.ToLower(string(value)) {
		case "yes":
			f.skipMe = true
		case "no":
			f.skipMe = false
		default:
			return engine.ErrSyntax
		}
	default:
		return engine.ErrSyntax
	}
	return ""
}

// killAll ends what matches. The caller's own connection ends after its reply.
func killAll(c *engine.Ctx, f *killFilter) (n int64) {
	for _, s := range c.Engine().Clients.All() {
		if !f.matches(s, c.S) {
			continue
		}
		n++
		if s == c.S {
			c.CloseAfterReply()
			continue
		}
		s.Kill()
	}
	return n
}
