package main

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/covey-db/covey/internal/command"
	"github.com/covey-db/covey/internal/server"
)

// tools are the commands of covey besides "server", which reads its arguments as redis-server does.
type tools struct {
	Version kong.VersionFlag `short:"v" help:"Show the version."`

	Server struct{}     `cmd:"" help:"Run a node; takes what redis-server takes: [redis.conf] [--directive value ...] [-]."`
	Up     upCommand    `cmd:"" help:"Run a whole cluster on this machine."`
	Check  checkCommand `cmd:"" help:"Check an RDB file or an append-only file."`
	Sim    simCommand   `cmd:"" help:"Simulate a cluster with faults."`
}

// versionLine tells which Covey this is, and which Redis it is like.
func versionLine() string {
	return fmt.Sprintf("covey %s, compatible with Redis %s", server.Version, command.RedisVersion)
}

// runTools is every command but "server".
func runTools(args []string, in io.Reader, out, errs io.Writer) int {
	var cli tools
	code := -1
	parser, err := kong.New(&cli, kong.Name("covey"), kong.Description("A Redis-Cluster-compatible in-memory data store."),
		kong.Vars{"version": versionLine()},
		kong.Writers(out, errs), kong.Exit(func(n int) { code = n }), kong.BindTo(out, (*io.Writer)(nil)), kong.BindTo(in, (*io.Reader)(nil)))
	if err != nil {
		fmt.Fprintln(errs, "covey:", err)
		return 1
	}
	ctx, err := parser.Parse(args)
	if code >= 0 {
		return code // --help or --version has been answered
	}
	if err != nil {
		fmt.Fprintf(errs, "covey: %v\nSee: covey --help\n", err)
		return 1
	}
	if err := ctx.Run(); err != nil {
		fmt.Fprintln(errs, "covey:", err)
		return 1
	}
	return 0
}
