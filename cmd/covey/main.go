// Command covey is the whole of Covey in one binary: a node, a cluster on this machine, and tools.
//
// Called through a link named redis-server it takes the arguments of redis-server, and as redis-check-aof those of that tool.
package main

import (
	"io"
	"os"
	"path/filepath"
)

func main() {
	ownStrings()
	os.Exit(profiled(func() int { return run(os.Args, os.Stdin, os.Stdout, os.Stderr) }))
}

// run is main without the process: it returns the exit code.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	name := filepath.Base(args[0])
	if name == "redis-server" || name == "covey-server" {
		return runServer(args[1:], in, out, errs)
	}
	if len(args) > 1 && args[1] == "server" {
		return runServer(args[2:], in, out, errs)
	}
	if name == "redis-check-aof" {
		return runCheckAOF(args[1:], in, out)
	}
	return runTools(args[1:], in, out, errs)
}
