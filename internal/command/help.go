package command

import (
	"bytes"
	"strings"

	"github.com/covey-db/covey/internal/engine"
)

// replyHelp replies the list of sub-commands in the form that redis-cli shows: pairs of a usage and indented lines.
func replyHelp(c *engine.Ctx, lines ...string) {
	c.Array(len(lines) + 3)
	c.Simple(strings.ToUpper(string(c.Args[0])) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, line := range lines {
		c.Simple(line)
	}
	c.Simple("HELP")
	c.Simple("    Print this help.")
}

// subcommandErr replies that a sub-command does not exist, or has no form with these arguments.
func subcommandErr(c *engine.Ctx) {
	c.Err("ERR unknown subcommand or wrong number of arguments for '" + shownStart(c.Args[1]) + "'. Try " +
		strings.ToUpper(string(c.Args[0])) + " HELP.")
}

// shown is a word of the client as Redis puts it into an error: up to the first zero byte.
func shown(b []byte) string {
	before, _, _ := bytes.Cut(b, []byte{0})
	return string(before)
}

// shownStart is shown of a word that may be cut off.
func shownStart(b []byte) string {
	const shownMax = 128 // bytes
	return shown(b[:min(len(b), shownMax)])
}
