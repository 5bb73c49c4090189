package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/covey-db/covey/internal/command"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/server"
)

const serverUsage = `Usage: covey server [/path/to/redis.conf] [options] [-]
       covey server - (read the configuration from standard input)
       covey server --version
       covey server --help

Every directive of redis.conf is an option:
       covey server --port 7777
       covey server --port 7777 --replicaof 127.0.0.1 8888
       covey server /etc/redis.conf --loglevel verbose
`

// daemonMark tells the process that it was started as a daemon already.
const daemonMark = "COVEY_DAEMON"

// runServer is "covey server": it takes what redis-server takes.
func runServer(args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) == 1 {
		switch args[0] {
		case "-v", "--version":
			fmt.Fprintf(out, "Redis server v=%s sha=00000000:0 malloc=covey-arenas bits=64 build=covey-%s\n", command.RedisVersion, server.Version)
			return 0
		case "-h", "--help":
			fmt.Fprint(out, serverUsage)
			return 0
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	var given []byte // what standard input held, where the arguments ask for it
	stdin := func() (text []byte, err error) {
		given, err = io.ReadAll(in)
		return given, err
	}
	loaded, err := config.Load(config.Input{
		Args: args, Stdin: stdin, WorkDir: dir,
		ReadFile: os.ReadFile, Glob: filepath.Glob, EnterDir: os.Chdir, TryLog: server.TryLog,
	})
	if err != nil {
		return refuse(errs, err)
	}
	store := config.NewStore(loaded)
	if store.Bool("daemonize") && !server.Supervised(store.String("supervised")) && os.Getenv(daemonMark) == "" {
		return daemonize(dir, given, errs)
	}
	return serve(loaded, errs)
}

// refuse says why a node does not start, a wrong configuration in the form that Redis has for it, and returns the exit code.
func refuse(errs io.Writer, err error) int {
	var bad *config.Error
	if errors.As(err, &bad) {
		fmt.Fprint(errs, bad.Fatal())
	} else {
		fmt.Fprintln(errs, err)
	}
	return 1
}

// daemonize starts this program once more, without a terminal: where it was started, since the configuration may have left that
// folder, and with the same standard input, which can be read but once.
func daemonize(dir string, stdin []byte, errs io.Writer) int {
	self, err := os.Executable()
	if err == nil {
		err = startDaemon(self, dir, stdin)
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

func startDaemon(self, dir string, stdin []byte) error {
	child := exec.Command(self)
	child.Args = os.Args
	child.Dir = dir
	child.Env = append(os.Environ(), daemonMark+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if len(stdin) == 0 {
		return child.Start()
	}
	to, err := child.StdinPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	if _, err := to.Write(stdin); err != nil {
		return err
	}
	return to.Close()
}

// serve runs a node until it is told to end.
func serve(loaded *config.Loaded, errs io.Writer) int {
	node, err := server.New(server.Options{Config: loaded, Process: server.Process{Name: os.Args[0], SetTitle: setTitle}})
	if err != nil {
		return refuse(errs, err)
	}
	signals := make(chan os.Signal, 4) // more than a user sends before the first is taken
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for s := range signals {
			if s == syscall.SIGINT {
				node.Signal("SIGINT")
			} else {
				node.Signal("SIGTERM")
			}
		}
	}()
	go reportCrash(node)
	signal.Ignore(syscall.SIGHUP)
	node.WritePID()
	if err := node.Run(context.Background()); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}
