package command

import (
	"fmt"
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

// subcommandErr replies that a sub-command that is no row of its own does not exist, or has other arguments.
func subcommandErr(c *engine.Ctx) {
	const shownMax = 128 // bytes of the client's word
	word := c.Args[1]
	if len(word) > shownMax {
		word = word[:shownMax]
	}
	c.Err("ERR unknown subcommand or wrong number of arguments for '" + string(word) + "'. Try " +
		strings.ToUpper(string(c.Args[0])) + " HELP.")
}

// replySubcommandSyntax refuses arguments that no form of a subcommand has.
func replySubcommandSyntax(c *engine.Ctx) {
	c.Err(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%.128s'. Try %s HELP.", cString(c.Args[1]),
		strings.ToUpper(c.Cmd.Parent.Name)))
}
