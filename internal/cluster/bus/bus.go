// Package bus drives cluster/core: it owns the sockets of the cluster bus, the clock, nodes.conf, and what the cluster's
// decisions do to this node's data, routes and role.
//
// Four kinds of goroutines share the work, so that heartbeats never wait for data:
//
//   - Run's own goroutine steps the core. It blocks on nothing but the core's mutex.
//   - The hands carry out, one after another, what touches the data: roles, flips of routes, purges, pauses. They wait for
//     shard locks, which a long script may hold. They also start the CLUSTER commands that change something.
//   - The disk writes nodes.conf. What core wants durable first (Persist with Hold) holds back the hands and the links
//     until it is.
//   - Each link has a reader and a writer. The reader hands over one packet at a time; the writer drains a bounded queue.
//
// Lock order: shard locks, then the core's mutex, then the leaves (links, router, disk, hands).
package bus

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/vfs"
)

// Options are what a Bus needs from outside.
type Options struct {
	Engine      *engine.Engine
	Replication *replication.Manager
	// Settings is asked at start and after every SettingsChanged.
	Settings func() Settings
	// ConfFile is the path of nodes.conf.
	ConfFile string
	// Bind are the addresses to listen on; a leading "-" marks one that may be missing on this machine. BusPort is the
	// port of the bus.
	Bind    []string
	BusPort int
	Log     *slog.Logger
	// Clock is the time; nil is the real one.
	Clock clock.Source
	// Seed feeds node ids and delays; zero: taken from the system.
	Seed [4]uint64
	// FS holds nodes.conf; nil is the system's.
	FS vfs.FS
	// Dial opens links; nil dials TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Secure makes a link of an accepted connection: it shakes hands where links are encrypted. It closes what it refuses;
	// nil takes connections as they are.
	Secure func(ctx context.Context, conn net.Conn) (net.Conn, error)
	// Deliver takes Pub/Sub messages of other nodes. It must not block, and the slices live until it returns. May be nil.
	Deliver func(channel, message []byte, sharded bool)
}

func (o *Options) validate() error {
	switch {
	case o.Engine == nil, o.Replication == nil, o.Settings == nil, o.Log == nil:
		return errors.New("bus: engine, replication, settings and log are needed")
	case o.ConfFile == "":
		return errors.New("bus: no name for the configuration file")
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}
	}
	if o.Secure == nil {
		o.Secure = func(_ context.Context, conn net.Conn) (net.Conn, error) { return conn, nil }
	}
	if o.Seed == [4]uint64{} {
		var b [32]byte
		_, _ = rand.Read(b[:])
		for i := range o.Seed {
			o.Seed[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	}
	return nil
}

// Bus is one node's part of the cluster.
type Bus struct {
	opts     Options
	e        *engine.Engine
	repl     *replication.Manager
	log      *slog.Logger
	settings atomic.Pointer[Settings]
	filter   atomic.Int64 // type of the packets that DEBUG has dropped, negative for none

	// startWall and startNanos turn the monotonic clock into Unix time that never jumps.
	startWall  clock.Millis
	startNanos int64

	lock      io.Closer // keeps other processes off nodes.conf
	listeners []net.Listener

	core struct { // Step is called by Run's goroutine only; others look
		sync.Mutex
		*core.Core
	}
	inbox   chan letter   // events from links and hands
	orders  chan *order   // commands that change something
	link    chan struct{} // the link to the primary came up or went down
	news    news          // messages for other nodes
	stopped chan struct{} // closed when Run ends or Close is called
	stop    sync.Once
	wg      sync.WaitGroup
	running sync.Mutex  // held while Run runs
	runs    atomic.Bool // Run takes letters

	disk   *disk
	hands  *hands
	router router
	links  links

	// Run's goroutine alone uses what follows.
	waiting     map[uint64]*order // commands without an answer, by request
	lastRequest uint64            // the last request given to a command
	lastRepl    core.Replication  // what core was last told
	hold        uint64            // the write of nodes.conf that must be done before anything else happens
	held        []heldBack        // what waits for it on the links
	heldSize    int               // bytes of packets in held

	followed atomic.Pointer[wire.NodeID] // the primary replication was last told to follow
	exceeded atomic.Int64                // links closed because their send queue was full
}

// letter is an event for the core. done, if any, gets a value once it has been stepped.
type letter struct {
	event core.Event
	link  *link // whose packet it is
	done  chan struct{}
}

const (
	// ordersMax is how many CLUSTER commands may wait; an operator's tools send a handful at a time.
	ordersMax = 1024
)

// New makes a bus. Nothing is read and nothing listens before Load.
func New(opts Options) (*Bus, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	b := &Bus{
		opts: opts, e: opts.Engine, repl: opts.Replication, log: opts.Log,
		startWall: opts.Clock.Now(), startNanos: opts.Clock.Nanos(),
		inbox:   make(chan letter),
		orders:  make(chan *order, ordersMax),
		link:    make(chan struct{}, 1),
		news:    news{ring: make(chan struct{}, 1)},
		stopped: make(chan struct{}),
		waiting: make(map[uint64]*order),
	}
	b.filter.Store(dropNothing)
	b.router.init(opts.Engine)
	b.links.init()
	b.hands = newHands(b)
	b.reread()
	return b, nil
}

// reread takes the settings anew.
func (b *Bus) reread() *Settings {
	s := b.opts.Settings()
	b.settings.Store(&s)
	return &s
}

// now is the time for the core: Unix milliseconds that do not jump when the system's clock is set.
func (b *Bus) now() clock.Millis {
	return b.startWall + clock.Millis((b.opts.Clock.Nanos()-b.startNanos)/int64(time.Millisecond))
}

// Load locks and reads nodes.conf and opens the port of the bus; nodes that connect are served once Run runs.
func (b *Bus) Load() error {
	path := b.opts.ConfFile
	if err := b.lockConf(path); err != nil {
		return err
	}
	s := b.settings.Load()
	conf, err := b.readConf(path, s.Core.TLSCluster)
	if err != nil {
		return err
	}
	c, err := core.New(core.Options{Config: s.Core, Seed: b.opts.Seed, Conf: conf})
	if err != nil {
		return fmt.Errorf("Unrecoverable error: corrupted cluster config file %q: %w", path, err)
	}
	b.core.Core = c
	b.disk = newDisk(b.opts.FS, path)
	if len(conf.Nodes) == 0 {
		b.log.Info("No cluster configuration found, I'm " + c.MyID().String())
		if err := vfs.WriteFileAtomic(b.opts.FS, path, c.AppendConf(nil)); err != nil {
			return fmt.Errorf("Fatal: can't update cluster config file. %w", err)
		}
	} else {
		b.log.Info("Node configuration loaded, I'm " + c.MyID().String())
	}
	if me := c.View().Me(); me.Flags.Has(wire.FlagReplica) {
		b.e.LockAll()
		b.e.Role.SetReplica(true)
		b.e.UnlockAll()
	}
	return b.listen()
}

// lockConf takes the lock that keeps two nodes from sharing one nodes.conf. The file itself is replaced at every write,
// so a file beside it is the lock.
func (b *Bus) lockConf(path string) error {
	lock, err := b.opts.FS.Lock(path + ".lock")
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return fmt.Errorf("Sorry, the cluster configuration file %s is already used by a different Redis Cluster node. "+
			"Please make sure that different nodes use different cluster configuration files.", path)
	case err != nil:
		return fmt.Errorf("Can't open %s in order to acquire a lock: %w", path, err)
	}
	b.lock = lock
	return nil
}

// SettingsChanged says that what Settings returns may be new. When it returns they are in force: what a client reads next
// shows them. Before Run, which reads them when it starts, it does nothing.
func (b *Bus) SettingsChanged() {
	if b.runs.Load() {
		b.post(letter{event: core.Configure{}, done: make(chan struct{}, 1)})
	}
}

// ReplicationChanged says that the link to the primary came up or went down: the manager's Changed. It does not block.
func (b *Bus) ReplicationChanged() {
	select {
	case b.link <- struct{}{}:
	default: // it is going to be looked at anyway
	}
}

// View is a picture of the cluster.
func (b *Bus) View() *core.View {
	b.core.Lock()
	defer b.core.Unlock()
	return b.core.View()
}

// Follows says whether this node is a replica, as far as nodes.conf or the others have told.
func (b *Bus) Follows() bool { return !b.View().Me().Flags.Has(wire.FlagPrimary) }

// halt tells all goroutines to end.
func (b *Bus) halt() {
	b.stop.Do(func() {
		close(b.stopped)
		if b.disk != nil {
			b.disk.abandon()
		}
	})
	for _, l := range b.listeners {
		l.Close()
	}
	b.links.closeAll()
}

// Close ends the bus and gives nodes.conf free. It may be called while Run runs, which ends then, or without it.
func (b *Bus) Close() {
	b.halt()
	b.wg.Wait()
	b.running.Lock()
	defer b.running.Unlock()
	if b.lock != nil {
		b.lock.Close()
		b.lock = nil
	}
}
