package command

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
)

// This file holds CONFIG.

func configHandlers(d Deps) map[string]engine.Handler {
	return map[string]engine.Handler{
		"config|get":       {Run: func(c *engine.Ctx) { cmdConfigGet(c, d) }},
		"config|set":       {Run: func(c *engine.Ctx) { cmdConfigSet(c, d) }},
		"config|rewrite":   {Run: func(c *engine.Ctx) { cmdConfigRewrite(c, d.RewriteConfig) }},
		"config|resetstat": {Run: func(c *engine.Ctx) { c.Engine().ResetStats(); c.OK() }},
		"config|help":      {Run: cmdConfigHelp},
	}
}

func cmdConfigGet(c *engine.Ctx, d Deps) {
	patterns := make([]string, 0, len(c.Args)-2)
	for _, p := range c.Args[2:] {
		patterns = append(patterns, string(p))
	}
	pairs := d.Config.Get(patterns...)
	c.Map(len(pairs))
	for _, p := range pairs {
		c.BulkString(p.Name)
		c.BulkString(p.Value)
	}
}

func cmdConfigSet(c *engine.Ctx, d Deps) {
	args := make([]string, 0, len(c.Args)-2)
	for _, a := range c.Args[2:] {
		args = append(args, string(a))
	}
	if err := d.Config.Set(args, config.Caller{Local: c.S.Peer.Loopback, Loading: c.Engine().Loading() || c.Engine().AsyncLoading()}); err != nil {
		c.Err(err.Error())
		return
	}
	c.OK()
}

func cmdConfigRewrite(c *engine.Ctx, rewrite func() error) {
	if rewrite == nil {
		c.Err("ERR The server is running without a config file")
		return
	}
	if err := rewrite(); err != nil {
		c.Err("ERR Rewriting config file: " + err.Error())
		return
	}
	c.OK()
}

func cmdConfigHelp(c *engine.Ctx) {
	c.Help(
		"GET <pattern> ...", "    The directives whose names match, with their values.",
		"RESETSTAT", "    Start the counters of INFO anew.",
		"REWRITE", "    Write the values in force into the configuration file.",
		"SET <directive> <value> ...", "    Change directives: all of them or none.",
	)
}
