package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/covey-db/covey/internal/server"
)

// reportCrash has the node log what it was doing when a signal comes that ends a process which is broken, and lets the signal
// end it. What the Go runtime itself stops for leaves the report of the runtime.
func reportCrash(node *server.Server) {
	fatal := []os.Signal{syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, fatal...)
	which := (<-signals).(syscall.Signal)
	node.ReportCrash(int(which))
	signal.Reset(fatal...)
	_ = syscall.Kill(os.Getpid(), which)
}
