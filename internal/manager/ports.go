package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/covey-db/covey/internal/vfs"
)

// This file says why a local cluster cannot start before it starts anything.

// busOffset is how far a node's bus port lies above its port.
const busOffset = 10000

func (o LocalOptions) validate() error {
	last := o.Port + o.Primaries + o.Replicas - 1
	switch {
	case o.Port < 1 || last+busOffset > 65535:
		return fmt.Errorf("ports %d-%d do not fit: every node also takes the port %d above its own", o.Port, last, busOffset)
	case o.NodeTimeout < time.Millisecond:
		return errors.New("a timeout is at least 1ms")
	}
	return nil
}

// sameAsBefore refuses a start with more or fewer nodes than the folder has from an earlier run: those that are left out would
// be missed, and those that are added belong to no cluster.
func (l *Local) sameAsBefore(context.Context) error {
	before := 0
	for (&localNode{dir: l.dirOf(l.opts.Port + before)}).hasConf() {
		before++
	}
	if before == 0 || before == len(l.nodes) {
		return nil
	}
	return fmt.Errorf("%s holds a cluster of %d nodes: start as many of them (--primaries, --replicas), or take another folder (--dir)",
		l.opts.Dir, before)
}

// lockPath is the file that a running "covey up" holds.
func (l *Local) lockPath() string { return filepath.Join(l.nodes[0].dir, "up.lock") }

// locked says whether another "covey up" runs on the folder.
func (l *Local) locked() bool {
	lock, err := (vfs.OS{}).Lock(l.lockPath())
	if err != nil {
		return errors.Is(err, vfs.ErrLocked)
	}
	lock.Close()
	return false
}

func (l *Local) runsAlready() error {
	return fmt.Errorf("another \"covey up\" runs on %s; for a second cluster choose other ports and another folder (--port, --dir)", l.opts.Dir)
}

// portsFree tells which port is taken. Nodes outlive a "covey up" that was killed; then it tells how to end them.
func (l *Local) portsFree(ctx context.Context) error {
	var taken error
	var left []string // process ids of our own nodes
	for _, n := range l.nodes {
		if err := portFree(n.port); err != nil {
			if taken == nil {
				taken = err
			}
			if pid := n.running(ctx); pid != "" {
				left = append(left, pid)
			}
		}
	}
	switch {
	case len(left) > 0 && l.locked():
		return l.runsAlready()
	case len(left) > 0:
		return fmt.Errorf("nodes of an earlier run still run on %s; end them with: kill %s", l.opts.Dir, strings.Join(left, " "))
	}
	return taken
}

func portFree(port int) error {
	for _, p := range []int{port, port + busOffset} {
		ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))
		if err != nil {
			return fmt.Errorf("port %d cannot be used, choose another with --port: %w", p, err)
		}
		ln.Close()
	}
	return nil
}

// running returns the process id of what answers at n's port if it runs n's configuration file.
func (n *localNode) running(ctx context.Context) string {
	c, err := Dial(ctx, n.addr())
	if err != nil {
		return ""
	}
	defer c.Close()
	v, err := c.Do("INFO", "server")
	if err != nil {
		return ""
	}
	var pid, conf string
	for line := range strings.Lines(string(v.Str)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "process_id":
			pid = value
		case "config_file":
			conf = value
		}
	}
	if conf != n.conf() {
		return ""
	}
	return pid
}
