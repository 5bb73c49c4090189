package command

import (
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
)

// This file holds the commands about the server itself.

func serverHandlers(d Deps) map[string]engine.Handler {
	return map[string]engine.Handler{
		"shutdown": {Run: func(c *engine.Ctx) { cmdShutdown(c, d) }},
		"lolwut":   {Run: cmdLolwut},

		"module|list":   {Run: func(c *engine.Ctx) { c.Array(0) }},
		"module|load":   {Run: cmdModule},
		"module|loadex": {Run: cmdModule},
		"module|unload": {Run: cmdModule},
		"module|help":   {Run: cmdModuleHelp},
	}
}

// ShutdownOptions are the words behind SHUTDOWN.
type ShutdownOptions struct {
	NoSave, Save, Now, Force bool
}

func cmdShutdown(c *engine.Ctx, d Deps) {
	var o ShutdownOptions
	abort := false
	for i := 1; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "NOSAVE"):
			o.NoSave = true
		case c.ArgIs(i, "SAVE"):
			o.Save = true
		case c.ArgIs(i, "NOW"):
			o.Now = true
		case c.ArgIs(i, "FORCE"):
			o.Force = true
		case c.ArgIs(i, "ABORT"):
			abort = true
		default:
			c.Err(engine.ErrSyntax)
			return
		}
	}
	if o.Save && o.NoSave || abort && len(c.Args) > 2 {
		c.Err(engine.ErrSyntax)
		return
	}
	if abort {
		if d.AbortShutdown == nil || !d.AbortShutdown() {
			c.Err("ERR No shutdown in progress.")
			return
		}
		c.OK()
		return
	}
	if running := c.Engine().RunningScripts(); len(running) > 0 && !o.NoSave {
		c.Err(map[bool]string{true: engine.ErrBusyScript, false: engine.ErrBusyFunction}[running[0].Eval])
		return
	}
	// There is no reply when all goes well: the connection ends with the server.
	w := c.Suspend(engine.WaitEnd, 0, nil, nil)
	d.Shutdown(o, func() {
		w.Resume(func(c *engine.Ctx) { c.Err("ERR Errors trying to SHUTDOWN. Check logs.") })
	})
}

// cmdLolwut draws a covey: birds on a wire, as many as the width given, by the dice of the server.
func cmdLolwut(c *engine.Ctx) {
	width := int64(24)
	args := c.Args[1:]
	if len(args) >= 2 && engine.FoldEqual(args[0], "VERSION") {
		if _, ok := num.ParseInt(args[1]); !ok {
			c.Err(engine.ErrNotInteger)
			return
		}
		args = args[2:]
	}
	if len(args) > 0 {
		if n, ok := num.ParseInt(args[0]); ok {
			width = min(max(n, 1), 200)
		}
	}
	var sky, birds strings.Builder
	for range width {
		switch c.Engine().Random() % 5 {
		case 0:
			sky.WriteString("  v ")
			birds.WriteString("    ")
		case 1, 2:
			sky.WriteString("    ")
			birds.WriteString("(o> ")
		case 3:
			sky.WriteString("    ")
			birds.WriteString("<o) ")
		default:
			sky.WriteString("    ")
			birds.WriteString("    ")
		}
	}
	c.Verbatim(fmt.Sprintf("%s\n%s\n%s\n\nA covey. Redis ver. %s\n", sky.String(), birds.String(), strings.Repeat("----", int(width)), RedisVersion))
}

// cmdModule refuses: modules are C libraries, and this server loads none.
func cmdModule(c *engine.Ctx) {
	switch {
	case c.ArgIs(1, "UNLOAD"):
		c.Err("ERR Error unloading module: no such module with that name")
	default:
		c.Err("ERR Error loading the extension. Please check the server logs.")
	}
}

func cmdModuleHelp(c *engine.Ctx) {
	c.Help(
		"LIST",
		"    Show the modules that are loaded: none, this server has no modules.",
		"LOAD <path> [<arg> ...], LOADEX <path> ..., UNLOAD <name>",
		"    Are refused.",
	)
}
