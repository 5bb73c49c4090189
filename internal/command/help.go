package command

import (
	"bytes"
	"strings"

	"github.com/covey-db/covey/internal/engine"
)

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
