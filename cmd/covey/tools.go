package main

import (
	"fmt"
	"io"
)

const usage = `Usage: covey <command> [arguments]

  server   run a node; takes what redis-server takes
`

// runTools is every command but "server".
func runTools(args []string, out, errs io.Writer) int {
	fmt.Fprint(errs, usage)
	return 2
}
