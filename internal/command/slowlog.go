package command

import (
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
)

// This file holds SLOWLOG and MONITOR.

func slowlogHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"slowlog|get":   {Run: cmdSlowlogGet},
		"slowlog|len":   {Run: func(c *engine.Ctx) { c.ReplyInt(int64(c.Engine().Timing.Slow.Len())) }},
		"slowlog|reset": {Run: cmdSlowlogReset},
		"slowlog|help":  {Run: cmdSlowlogHelp},
		"monitor":       {Run: cmdMonitor},
	}
}

// slowDefault is how many calls SLOWLOG GET shows.
const slowDefault = 10

func cmdSlowlogGet(c *engine.Ctx) {
	count := int64(slowDefault)
	if len(c.Args) > 3 {
		subcommandErr(c)
		return
	}
	if len(c.Args) == 3 {
		var ok bool
		if count, ok = num.ParseInt(c.Args[2]); !ok || count < -1 {
			c.Err("ERR count should be greater than or equal to -1")
			return
		}
	}
	calls := c.Engine().Timing.Slow.Last(count)
	c.Array(len(calls))
	for _, s := range calls {
		c.Array(6)
		c.ReplyInt(s.ID)
		c.ReplyInt(s.At)
		c.ReplyInt(s.Micros)
		c.Array(len(s.Args))
		for _, a := range s.Args {
			c.BulkString(a)
		}
		c.BulkString(s.Client)
		c.BulkString(s.Name)
	}
}

func cmdSlowlogReset(c *engine.Ctx) {
	c.Engine().Timing.Slow.Reset()
	c.OK()
}

func cmdSlowlogHelp(c *engine.Ctx) {
	c.Help(
		"GET [<count>]",
		"    Show the latest slow calls, 10 if not told, all for -1. Each has its number, when it",
		"    was, how many microseconds it took, the command line, and the client's address and name.",
		"LEN",
		"    Tell how many slow calls are kept.",
		"RESET",
		"    Forget all slow calls.",
	)
}

func cmdMonitor(c *engine.Ctx) {
	if c.InExec() {
		c.Err("ERR MONITOR isn't allowed for DENY BLOCKING client")
		return
	}
	c.Monitor()
	c.OK()
}
