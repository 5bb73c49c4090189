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
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
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
}

type localNode struct {
	port int
	dir  string
	cmd  *exec.Cmd
	done chan struct{}
}

func (n *localNode) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)) }

// conf is the path of the node's configuration file.
func (n *localNode) conf() string { return filepath.Join(n.dir, "covey.conf") }

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
		n.dir = filepath.Join(opts.Dir, "node-"+strconv.Itoa(n.port))
		l.nodes = append(l.nodes, n)
	}
	if err := l.portsFree(ctx); err != nil {
		return nil, err
	}
	for _, n := range l.nodes {
		if err := l.start(n); err != nil {
			l.Stop()
			return nil, err
		}
	}
	conns, err := l.connect(ctx)
	defer closeAll(conns)
	if err == nil {
		err = l.form(ctx, conns, plan)
	}
	if err != nil {
		l.Stop()
		return nil, err
	}
	return l, nil
}

func closeAll(conns []*Conn) {
	for _, c := range conns {
		c.Close()
	}
}

// start starts one node as a process with a configuration file of its own.
func (l *Local) start(n *localNode) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	conf := n.conf()
	if _, err := os.Stat(conf); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(conf, []byte(l.settings(n)), 0o644); err != nil {
			return err
		}
	}
	n.cmd = exec.Command(l.opts.Binary, "server", conf)
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

func (l *Local) settings(n *localNode) string {
	return fmt.Sprintf(`# A node of a local cluster. Change it as you like: it is written once.
bind 127.0.0.1
port %d
dir %q
logfile %q
cluster-enabled yes
cluster-config-file nodes.conf
cluster-node-timeout %d
cluster-announce-ip 127.0.0.1
cluster-require-full-coverage no
save 60 1
`, n.port, n.dir, filepath.Join(n.dir, "covey.log"), l.opts.NodeTimeout.Milliseconds())
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
	byID := make(map[string]string)
	for _, n := range nodes {
		byID[n.ID] = n.Addr
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %-18s %-8s %-16s %s\n", "node", "role", "slots", "follows")
	for _, n := range nodes {
		slots, follows := strings.Join(n.Slots, " "), byID[n.Primary]
		fmt.Fprintf(&b, "  %-18s %-8s %-16s %s\n", n.Addr, n.Role(), slots, follows)
	}
	return b.String(), nil
}

// view asks the first node that answers.
func (l *Local) view(ctx context.Context) ([]Node, error) {
	var last error
	for _, n := range l.nodes {
		c, err := Dial(ctx, n.addr())
		if err != nil {
			last = err
			continue
		}
		nodes, err := Nodes(c)
		c.Close()
		if err == nil {
			sort.Slice(nodes, func(i, j int) bool { return nodes[i].Addr < nodes[j].Addr })
			return nodes, nil
		}
		last = err
	}
	return nil, last
}

// watchPeriod is how often Watch looks for changes.
const watchPeriod = 500 * time.Millisecond

// Watch tells of role changes and of nodes that end, until ctx ends or no node is left.
func (l *Local) Watch(ctx context.Context) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	known := make(map[string]string)
	left := len(l.nodes)
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-l.ended:
			fmt.Fprintf(l.opts.Out, "%s  127.0.0.1:%d ended\n", stamp(), n.port)
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

// tell prints what differs from the last look.
func (l *Local) tell(known map[string]string, nodes []Node) {
	for _, n := range nodes {
		now := n.Role() + ", " + n.State()
		if n.Role() == "primary" && len(n.Slots) > 0 {
			now += ", slots " + strings.Join(n.Slots, " ")
		}
		if before, seen := known[n.Addr]; seen && before != now {
			fmt.Fprintf(l.opts.Out, "%s  %s is now %s\n", stamp(), n.Addr, now)
		}
		known[n.Addr] = now
	}
}

// Stop ends the nodes, replicas first, and waits until they have saved.
func (l *Local) Stop() {
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
