package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/covey-db/covey/internal/manager"
)

// upCommand is "covey up": a cluster on this machine.
type upCommand struct {
	Primaries int           `help:"Number of primaries." default:"3"`
	Replicas  int           `help:"Number of replicas, dealt to the primaries in turn." default:"3"`
	Port      int           `help:"Port of the first node; the others follow." default:"7000"`
	Dir       string        `help:"Folder for the nodes' data." default:"covey-data" type:"path"`
	Timeout   time.Duration `help:"cluster-node-timeout of new nodes." default:"5s"`
}

func (u *upCommand) Run(out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(u.Dir)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	start := time.Now()
	cluster, err := manager.StartLocal(ctx, manager.LocalOptions{
		Binary: self, Primaries: u.Primaries, Replicas: u.Replicas, Port: u.Port, Dir: dir, NodeTimeout: u.Timeout, Out: out,
	})
	if err != nil {
		return err
	}
	table, err := cluster.Table(ctx)
	if err != nil {
		cluster.Stop()
		return err
	}
	fmt.Fprintf(out, "Cluster ready after %.1f s, data in %s\n\n%s\nTry:  redis-cli -c -p %d set hello world\nStop: Ctrl-C (saves; the next start resumes)\n\n",
		time.Since(start).Seconds(), dir, table, u.Port)
	cluster.Watch(ctx)
	fmt.Fprintln(out, "Stopping: saving the data ...")
	cluster.Stop()
	return nil
}
