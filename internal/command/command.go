package command

import (
	"strings"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/glob"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds COMMAND: what this server can do, for clients that ask.

func commandHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"command":                 {Run: cmdCommand},
		"command|count":           {Run: func(c *engine.Ctx) { c.ReplyInt(int64(len(c.Engine().Table().Rows()))) }},
		"command|info":            {Run: cmdCommandInfo},
		"command|docs":            {Run: cmdCommandDocs},
		"command|list":            {Run: cmdCommandList},
		"command|getkeys":         {Run: func(c *engine.Ctx) { cmdGetKeys(c, false) }},
		"command|getkeysandflags": {Run: func(c *engine.Ctx) { cmdGetKeys(c, true) }},
		"command|help":            {Run: cmdCommandHelp},
	}
}

func replyRows(c *engine.Ctx, rows []*spec.Row) {
	c.Array(len(rows))
	for _, row := range rows {
		replyRow(c, row)
	}
}

func replyRow(c *engine.Ctx, row *spec.Row) {
	if row == nil {
		c.Null()
		return
	}
	c.Append(func(dst []byte, v resp.Version) []byte { return spec.AppendInfo(dst, v, row) })
}

func cmdCommand(c *engine.Ctx) { replyRows(c, c.Engine().Table().Rows()) }

func cmdCommandInfo(c *engine.Ctx) {
	table := c.Engine().Table()
	if len(c.Args) == 2 {
		replyRows(c, table.Rows())
		return
	}
	c.Array(len(c.Args) - 2)
	for _, name := range c.Args[2:] {
		replyRow(c, table.Find(name))
	}
}

func cmdCommandDocs(c *engine.Ctx) {
	table := c.Engine().Table()
	rows := table.Rows()
	if len(c.Args) > 2 {
		rows = nil
		for _, name := range c.Args[2:] {
			if row := table.Find(name); row != nil {
				rows = append(rows, row)
			}
		}
	}
	c.Map(len(rows))
	for _, row := range rows {
		c.BulkString(row.Full)
		c.Append(func(dst []byte, v resp.Version) []byte { return spec.AppendDocs(dst, v, row) })
	}
}

func cmdCommandList(c *engine.Ctx) {
	keep := func(*spec.Row) bool { return true }
	switch {
	case len(c.Args) == 2:
	case len(c.Args) != 5 || !c.ArgIs(2, "FILTERBY"):
		c.Err(engine.ErrSyntax)
		return
	case c.ArgIs(3, "MODULE"):
		keep = func(*spec.Row) bool { return false }
	case c.ArgIs(3, "ACLCAT"):
		category, ok := spec.CategoryByName(c.Args[4])
		keep = func(r *spec.Row) bool { return ok && r.Categories&category != 0 }
	case c.ArgIs(3, "PATTERN"):
		pattern := []byte(strings.ToLower(string(c.Args[4])))
		keep = func(r *spec.Row) bool { return glob.Match(pattern, []byte(r.Full), true) }
	default:
		c.Err(engine.ErrSyntax)
		return
	}
	var names []string
	for row := range c.Engine().Table().All() {
		if keep(row) {
			names = append(names, row.Full)
		}
	}
	c.Array(len(names))
	for _, name := range names {
		c.BulkString(name)
	}
}

func cmdGetKeys(c *engine.Ctx, flags bool) {
	args := c.Args[2:]
	refs, err := c.Engine().Table().GetKeys(args, nil)
	if err != nil {
		c.Err("ERR " + err.Error())
		return
	}
	c.Array(len(refs))
	for _, ref := range refs {
		if flags {
			c.Array(2)
		}
		c.Bulk(args[ref.Pos])
		if flags {
			c.Append(func(dst []byte, v resp.Version) []byte { return spec.AppendKeyFlags(dst, v, ref.Flags) })
		}
	}
}

func cmdCommandHelp(c *engine.Ctx) {
	c.Help(
		"(no subcommand)", "    Every command with its arity, flags and keys.",
		"COUNT", "    How many commands there are.",
		"DOCS [<command-name> ...]", "    What the commands do and what arguments they take.",
		"GETKEYS <full-command>", "    The keys in a command line.",
		"GETKEYSANDFLAGS <full-command>", "    The keys in a command line, and how each is used.",
		"INFO [<command-name> ...]", "    What is known of the given commands.",
		"LIST [FILTERBY MODULE <module>|ACLCAT <category>|PATTERN <pattern>]", "    The names of the commands.",
	)
}
