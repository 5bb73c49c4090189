package command

import (
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
)

// This file holds CLIENT LIST and the line that shows a connection.

// clientKind is what TYPE filters by.
type clientKind string

// kindByWord reads a TYPE; false when there is none of that name.
func kindByWord(word []byte) (clientKind, bool) {
	switch k := clientKind(strings.ToLower(string(word))); k {
	case "normal", "master", "replica", "pubsub":
		return k, true
	case "slave":
		return "replica", true
	}
	return "", false
}

func kindOf(flags uint32) clientKind {
	switch {
	case flags&engine.FlagPrimary != 0:
		return "master"
	case flags&engine.FlagReplica != 0:
		return "replica"
	case flags&engine.FlagPubSub != 0:
		return "pubsub"
	}
	return "normal"
}

func cmdClientList(c *engine.Ctx) {
	keep, ok := listFilter(c)
	if !ok {
		return
	}
	var text strings.Builder
	for _, s := range c.Engine().Clients.All() {
		if keep(s) {
			text.WriteString(lineOf(s, c.Info(s), int64(c.Now)))
			text.WriteByte('\n')
		}
	}
	c.Verbatim(text.String())
}

func listFilter(c *engine.Ctx) (keep func(*engine.Session) bool, ok bool) {
	switch {
	case len(c.Args) == 2:
		return func(*engine.Session) bool { return true }, true
	case len(c.Args) == 4 && c.ArgIs(2, "TYPE"):
		kind, known := kindByWord(c.Args[3])
		if !known {
			c.Err(fmt.Sprintf("ERR Unknown client type '%s'", c.Args[3]))
			return nil, false
		}
		return func(s *engine.Session) bool { return kindOf(s.Info().Flags) == kind }, true
	case len(c.Args) > 3 && c.ArgIs(2, "ID"):
		wanted := make(map[int64]bool)
		for _, word := range c.Args[3:] {
			id, valid := num.ParseInt(word)
			if !valid {
				c.Err("ERR Invalid client ID")
				return nil, false
			}
			wanted[id] = true
		}
		return func(s *engine.Session) bool { return wanted[s.ID] }, true
	}
	c.Err(engine.ErrSyntax)
	return nil, false
}

// flagLetters are the letters of CLIENT LIST, in Redis's order.
var flagLetters = []struct {
	flag   uint32
	letter byte
}{
	{engine.FlagMonitor, 'O'}, {engine.FlagReplica, 'S'}, {engine.FlagPrimary, 'M'}, {engine.FlagPubSub, 'P'}, {engine.FlagMulti, 'x'},
	{engine.FlagBlocked, 'b'}, {engine.FlagTracking, 't'}, {engine.FlagTrackingBroken, 'R'}, {engine.FlagBroadcast, 'B'},
	{engine.FlagWatchBroken, 'd'}, {engine.FlagClosing, 'c'}, {engine.FlagUnix, 'U'}, {engine.FlagReadOnly, 'r'},
	{engine.FlagNoEvict, 'e'}, {engine.FlagNoTouch, 'T'},
}

func letters(flags uint32) string {
	var b strings.Builder
	for _, f := range flagLetters {
		if flags&f.flag != 0 {
			b.WriteByte(f.letter)
		}
	}
	if b.Len() == 0 {
		return "N"
	}
	return b.String()
}

// ClientLine is the line of a connection as others see it. now is Unix time in milliseconds.
func ClientLine(s *engine.Session, now int64) string { return lineOf(s, s.Info(), now) }

// lineOf is the line of a connection, with the fields of Redis 7.2 in their order. A connection has no buffer of its own for
// replies (rbs, rbp, obl): what its client has not taken is in pieces (oll, omem).
func lineOf(s *engine.Session, info engine.SessionInfo, now int64) string {
	events := "r"
	if info.Output > 0 {
		events = "rw"
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d multi=%d "+
		"qbuf=%d qbuf-free=%d argv-mem=%d multi-mem=%d rbs=0 rbp=0 obl=0 oll=%d omem=%d tot-mem=%d events=%s cmd=%s user=%s redir=%d resp=%d "+
		"lib-name=%s lib-ver=%s",
		s.ID, s.Peer.Remote, s.Peer.Local, s.Peer.FD, info.Name, max(0, now-int64(s.Created))/1000, max(0, now-int64(info.Last))/1000,
		letters(info.Flags), info.DB, s.Subscriptions(engine.SubChannel), s.Subscriptions(engine.SubPattern),
		s.Subscriptions(engine.SubShard), info.Queued, info.Query, info.QueryFree, info.Arguments,
		info.Multi, info.Pieces, info.Output, info.Total, events, info.Cmd, info.User, s.Redirect(),
		info.Proto, info.LibName, info.LibVer)
}
