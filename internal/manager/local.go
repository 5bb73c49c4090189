package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/covey-db/covey/internal/vfs"
)

// This file runs a cluster of processes on this machine: "covey up".

// LocalOptions describe a local cluster.
type LocalOptions struct {
	Binary              string // the covey binary
	Primaries, Replicas int    // Replicas is for the whole cluster
	Port                int    // of the first node; the others follow
	Dir                 string // every node gets a folder of its own in it
	NodeTimeout         time.Duration
	Out                 io.Writer
}

// Local is a cluster of processes on this machine.
type Local struct {
	opts  LocalOptions
	nodes []*localNode
	ended chan *localNode
	lock  io.Closer // keeps others from the folder
	first int       // the node that is asked first: the one that answered last
}

type localNode struct {
	port int
	dir  string
	cmd  *exec.Cmd
	done chan struct{}
}

func (n *localNode) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)) }

// pid is the process id of the node as we started it.
func (n *localNode) pid() string {
	if n.cmd == nil || n.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(n.cmd.Process.Pid)
}

// startWait bounds how long a node may take to answer after its start, loading its data included.
const startWait = 60 * time.Second

// stopWait bounds how long a node may take to save and end.
const stopWait = 60 * time.Second

// StartLocal starts the nodes, forms the cluster when it is new, and waits until it serves.
func StartLocal(ctx context.Context, opts LocalOptions) (*Local, error) {
	plan, err := NewPlan(opts.Primaries, opts.Replicas)
	if err != nil {
		return nil, err
	}
	if err := opts.validate(); err != nil {
		return nil, err
	}
	l := &Local{opts: opts, ended: make(chan *localNode, opts.Primaries+opts.Replicas)}
	for i := range opts.Primaries + opts.Replicas {
		n := &localNode{port: opts.Port + i, done: make(chan struct{})}
		n.dir = l.dirOf(n.port)
		l.nodes = append(l.nodes, n)
	}
	for _, check := range []func(context.Context) error{l.sameAsBefore, l.portsFree, l.prepare} {
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	if err := l.run(ctx, plan); err != nil {
		l.Stop()
		if ctx.Err() != nil {
			err = errors.New("interrupted before the cluster was ready")
		}
		return nil, err
	}
	return l, nil
}

// run starts the nodes and waits until they are a cluster that serves.
func (l *Local) run(ctx context.Context, plan Plan) error {
	for _, n := range l.nodes {
		if err := l.start(n); err != nil {
			return err
		}
	}
	conns, err := l.connect(ctx)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	return l.form(ctx, conns, plan)
}

// dirOf is the folder of the node with a port.
func (l *Local) dirOf(port int) string { return filepath.Join(l.opts.Dir, "node-"+strconv.Itoa(port)) }

func closeAll(conns []*Conn) {
	for _, c := range conns {
		c.Close()
	}
}

// prepare takes the folder for this run and gives every node a configuration file of its own.
func (l *Local) prepare(context.Context) (err error) {
	for _, n := range l.nodes {
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			return fmt.Errorf("%w; choose another folder with --dir", err)
		}
	}
	l.lock, err = vfs.OS{}.Lock(l.lockPath())
	if errors.Is(err, vfs.ErrLocked) {
		return l.runsAlready()
	}
	if err != nil {
		return err
	}
	for _, n := range l.nodes {
		if err := l.writeConf(n); err != nil {
			l.lock.Close()
			return err
		}
	}
	return nil
}

// start starts one node as a process.
func (l *Local) start(n *localNode) error {
	n.cmd = exec.Command(l.opts.Binary, "server", n.conf())
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us: we end the nodes in order
	if err := n.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = n.cmd.Wait() // how it ended is in its log
		close(n.done)
		l.ended <- n
	}()
	return nil
}

// connect waits until every node answers.
func (l *Local) connect(ctx context.Context) (conns []*Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for _, n := range l.nodes {
		err := await(ctx, func() (bool, error) {
			select {
			case <-n.done:
				return true, nil
			default:
			}
			c, err := Dial(ctx, n.addr())
			if err != nil {
				return false, err
			}
			if _, err := c.Do("PING"); err != nil {
				c.Close()
				return false, err
			}
			conns = append(conns, c)
			return true, nil
		})
		select {
		case <-n.done:
			return conns, fmt.Errorf("node %d ended at its start; see %s", n.port, filepath.Join(n.dir, "covey.log"))
		default:
		}
		if err != nil {
			return conns, fmt.Errorf("node %d does not answer: %w", n.port, err)
		}
	}
	return conns, nil
}

// form makes a cluster of new nodes; nodes that know each other already only have to find each other again.
func (l *Local) form(ctx context.Context, conns []*Conn, plan Plan) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	fresh, err := freshOf(conns)
	switch {
	case err != nil:
		return err
	case len(fresh) == len(conns):
		return Create(ctx, conns, plan)
	case len(fresh) > 0:
		return fmt.Errorf("%s belong to no cluster, the others do; remove the folder %s to begin anew, or start as many nodes as before",
			strings.Join(fresh, " "), l.opts.Dir)
	}
	return await(ctx, func() (bool, error) { return allHealthy(conns) })
}

// freshOf returns the addresses of the nodes that know no other node and own no slot.
func freshOf(conns []*Conn) (fresh []string, err error) {
	for _, c := range conns {
		nodes, err := Nodes(c)
		if err != nil {
			return nil, err
		}
		if len(nodes) == 1 && len(nodes[0].Slots) == 0 {
			fresh = append(fresh, c.Addr)
		}
	}
	return fresh, nil
}

// Table describes the nodes as a table.
func (l *Local) Table(ctx context.Context) (string, error) {
	nodes, err := l.view(ctx)
	if err != nil {
		return "", err
	}
	byID, pids := make(map[string]string), make(map[string]string)
	for _, n := range nodes {
		byID[n.ID] = n.Addr
	}
	for _, n := range l.nodes {
		pids[n.addr()] = n.pid()
	}
	var b strings.Builder
	const row = "  %-15s  %-7s  %-7s  %-15s  %s"
	write := func(cells ...any) { b.WriteString(strings.TrimRight(fmt.Sprintf(row, cells...), " ") + "\n") }
	write("node", "process", "role", "follows", "slots")
	for _, n := range nodes {
		write(n.Addr, pids[n.Addr], n.Role(), byID[n.Primary], strings.Join(n.Slots, " "))
	}
	return b.String(), nil
}

// lookWait bounds how long one node may keep the view from being shown: another is asked then.
const lookWait = 500 * time.Millisecond

// view asks the nodes in turn until one answers, the one that answered last first.
func (l *Local) view(ctx context.Context) (nodes []Node, err error) {
	for range l.nodes {
		var c *Conn
		if c, err = Dial(ctx, l.nodes[l.first].addr()); err == nil {
			c.Wait = lookWait
			nodes, err = Nodes(c)
			c.Close()
		}
		if err == nil {
			slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Addr, b.Addr) })
			return nodes, nil
		}
		l.first = (l.first + 1) % len(l.nodes)
	}
	return nil, err
}

// watchPeriod is how often Watch looks for changes.
const watchPeriod = 500 * time.Millisecond

// Watch tells of role changes and of nodes that end, until ctx ends or no node is left.
func (l *Local) Watch(ctx context.Context) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	known := make(map[string]seen)
	left := len(l.nodes)
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-l.ended:
			l.tellEnd(n)
			if left--; left == 0 {
				return
			}
		case <-tick.C:
			nodes, err := l.view(ctx)
			if err != nil {
				continue
			}
			l.tell(known, nodes)
		}
	}
}

func stamp() string { return time.Now().Format("15:04:05.0") }

// tellEnd tells of a node that ended, and how to have it again: as a replica, if its own has taken over.
func (l *Local) tellEnd(n *localNode) {
	fmt.Fprintf(l.opts.Out, "%s  %s ended; start it again with\n            %s server %s\n", stamp(), n.addr(), fromHere(l.opts.Binary), fromHere(n.conf()))
}

// fromHere is a path as short as can be.
func fromHere(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(dir, path); err == nil && len(short) < len(path) {
		return short
	}
	return path
}

// seen is what was seen of a node at the last look, and what was told of it.
type seen struct{ role, slots, told string }

// tell prints what differs from what was told. Slots that move are told when they have come to rest.
func (l *Local) tell(known map[string]seen, nodes []Node) {
	for _, n := range nodes {
		before, met := known[n.Addr]
		now := seen{role: n.Role() + ", " + n.State(), told: before.told}
		if n.Role() == "primary" && len(n.Slots) > 0 {
			now.slots = ", slots " + strings.Join(n.Slots, " ")
		}
		switch text := now.role + now.slots; {
		case !met:
			now.told = text
		case text != before.told && (now.role != before.role || now.slots == before.slots):
			fmt.Fprintf(l.opts.Out, "%s  %s is now %s\n", stamp(), n.Addr, text)
			now.told = text
		}
		known[n.Addr] = now
	}
}

// Stop ends the nodes, replicas first, and waits until they have saved.
func (l *Local) Stop() {
	defer l.lock.Close()
	for i := len(l.nodes) - 1; i >= 0; i-- {
		n := l.nodes[i]
		if n.cmd == nil || n.cmd.Process == nil {
			continue // it was never started
		}
		select {
		case <-n.done:
			continue
		default:
		}
		_ = n.cmd.Process.Signal(syscall.SIGTERM) // it may have ended just now
	}
	deadline := time.After(stopWait)
	for _, n := range l.nodes {
		if n.cmd == nil || n.cmd.Process == nil {
			continue
		}
		select {
		case <-n.done:
		case <-deadline:
			_ = n.cmd.Process.Kill()
			<-n.done
		}
	}
}
