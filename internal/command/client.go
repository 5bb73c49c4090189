package command

import (
	"strings"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
)

// This file holds CLIENT, but for LIST and KILL, which have files of their own.

func clientHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"client|id":       {Run: func(c *engine.Ctx) { c.ReplyInt(c.S.ID) }},
		"client|getname":  {Run: cmdClientGetName},
		"client|setname":  {Run: cmdClientSetName},
		"client|setinfo":  {Run: cmdClientSetInfo},
		"client|info":     {Run: func(c *engine.Ctx) { c.Verbatim(lineOf(c.S, c.Info(c.S), int64(c.Now)) + "\n") }},
		"client|list":     {Run: cmdClientList},
		"client|kill":     {Run: cmdClientKill},
		"client|reply":    {Run: cmdClientReply},
		"client|no-evict": {Run: func(c *engine.Ctx) { clientSwitch(c, c.S.SetNoEvict) }},
		"client|no-touch": {Run: func(c *engine.Ctx) { clientSwitch(c, c.S.SetNoTouch) }},
		"client|pause":    {Run: cmdClientPause},
		"client|unpause":  {Run: cmdClientUnpause},
		"client|unblock":  {Run: cmdClientUnblock},
		"client|help":     {Run: cmdClientHelp},

		"client|tracking":     {Run: cmdClientTracking},
		"client|trackinginfo": {Run: cmdClientTrackingInfo},
		"client|caching":      {Run: cmdClientCaching},
		"client|getredir":     {Run: func(c *engine.Ctx) { c.ReplyInt(c.S.Redirect()) }},
	}
}

func cmdClientGetName(c *engine.Ctx) {
	if name := c.S.Info().Name; name != "" {
		c.BulkString(name)
		return
	}
	c.Null()
}

func cmdClientSetName(c *engine.Ctx) {
	if validName(c, c.Args[2], "Client names") {
		c.S.SetName(string(c.Args[2]))
		c.OK()
	}
}

func cmdClientSetInfo(c *engine.Ctx) {
	value := string(c.Args[3])
	name := strings.ToLower(string(c.Args[2]))
	switch name {
	case "lib-name", "lib-ver":
		if !validName(c, c.Args[3], name) {
			return
		}
		if name == "lib-name" {
			c.S.SetLib(&value, nil)
		} else {
			c.S.SetLib(nil, &value)
		}
		c.OK()
	default:
		c.Err("ERR Unrecognized option '" + shown(c.Args[2]) + "'")
	}
}

func cmdClientReply(c *engine.Ctx) {
	switch {
	case c.ArgIs(2, "ON"):
		c.S.ReplyOn()
		c.OK()
	case c.ArgIs(2, "OFF"):
		c.S.ReplyOff()
	case c.ArgIs(2, "SKIP"):
		c.S.ReplySkip()
	default:
		c.Err(engine.ErrSyntax)
	}
}

func clientSwitch(c *engine.Ctx, set func(bool)) {
	switch {
	case c.ArgIs(2, "ON"):
		set(true)
	case c.ArgIs(2, "OFF"):
		set(false)
	default:
		c.Err(engine.ErrSyntax)
		return
	}
	c.OK()
}

func cmdClientPause(c *engine.Ctx) {
	mode := engine.PauseEverything
	switch {
	case len(c.Args) == 3:
	case len(c.Args) == 4 && c.ArgIs(3, "WRITE"):
		mode = engine.PauseWrites
	case len(c.Args) == 4 && c.ArgIs(3, "ALL"):
	case len(c.Args) == 4:
		c.Err("ERR CLIENT PAUSE mode must be WRITE or ALL")
		return
	default:
		subcommandErr(c)
		return
	}
	n, ok := num.ParseInt(c.Args[2])
	if !ok {
		c.Err("ERR timeout is not an integer or out of range")
		return
	}
	if n < 0 {
		c.Err("ERR timeout is negative")
		return
	}
	until := c.Now + clock.Millis(n)
	if until < c.Now {
		c.Err("ERR timeout is out of range")
		return
	}
	c.Engine().Pause.Begin(engine.PauseByClient, mode, c.Now, until)
	c.OK()
}

func cmdClientUnpause(c *engine.Ctx) {
	c.Engine().Pause.End(engine.PauseByClient, c.Now)
	c.OK()
}

func cmdClientUnblock(c *engine.Ctx) {
	withError := false
	switch {
	case len(c.Args) == 3 || len(c.Args) == 4 && c.ArgIs(3, "TIMEOUT"):
	case len(c.Args) == 4 && c.ArgIs(3, "ERROR"):
		withError = true
	default:
		c.Err("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		return
	}
	id, ok := c.Int(2)
	if !ok {
		return
	}
	s := c.Engine().Clients.Get(id)
	c.Bool01(s != nil && s.Unblock(withError))
}

func cmdClientHelp(c *engine.Ctx) {
	c.Help(
		"GETNAME", "    The name of this connection.",
		"ID", "    The number of this connection.",
		"INFO", "    This connection's line of LIST.",
		"KILL <ip:port>", "    End the connection from this address.",
		"KILL <filter> <value> [...]", "    End the connections that all filters match: ADDR, LADDR, ID, USER, TYPE, SKIPME (yes|no).",
		"LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID <id> ...]", "    A line for each connection.",
		"NO-EVICT (ON|OFF)", "    Spare this connection when memory for clients runs out.",
		"NO-TOUCH (ON|OFF)", "    Do not count this connection's reads as use of the keys.",
		"PAUSE <timeout> [WRITE|ALL]", "    Let clients wait for so many milliseconds.",
		"REPLY (ON|OFF|SKIP)", "    Whether this connection gets replies.",
		"SETINFO <option> <value>", "    Tell the client library: LIB-NAME, LIB-VER.",
		"SETNAME <name>", "    Name this connection.",
		"UNBLOCK <id> [TIMEOUT|ERROR]", "    End the wait of a blocked connection.",
		"UNPAUSE", "    End a pause.",
	)
}

// parsePositive reads a client id.
func parsePositive(b []byte) (int64, bool) {
	n, ok := num.ParseInt(b)
	return n, ok && n > 0
}
