// Package replication keeps replicas in step with their primary, in both directions as Redis 7.2 does it: PSYNC with two
// replication ids, full synchronisation from a snapshot without fork, partial resynchronisation from the log, REPLCONF
// acknowledgements, WAIT, and replicas of replicas. The stream itself is the engine's log.
package replication

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/vfs"
)

// Settings are what configuration says of replication. The manager reads them anew at each use.
type Settings struct {
	Timeout      time.Duration // repl-timeout
	PingPeriod   time.Duration // repl-ping-replica-period
	User         string        // masteruser
	Password     string        // masterauth
	ListenPort   int           // what a primary is told: replica-announce-port, or the port
	AnnounceIP   string        // replica-announce-ip
	Announced    bool          // replica-announced, shown by INFO
	Priority     int           // replica-priority, shown by INFO
	MinReplicas  int
	Dir          string // where a synchronisation is kept until it is whole
	File         string // dbfilename, which is in the names of those files: several nodes may share a directory
	Compress     bool
	Unsummed     bool
	Direct       WhenDirect    // repl-diskless-load
	ToFile       bool          // repl-diskless-sync no
	NoFileStays  bool          // the file that replicas get is not to stay: rdb-del-sync-files where nothing is kept on disk
	GatherFor    time.Duration // repl-diskless-sync-delay
	GatherMax    int           // repl-diskless-sync-max-replicas, 0 for any number
	NoDelayOff   bool          // repl-disable-tcp-nodelay
	BacklogTTL   time.Duration // repl-backlog-ttl; 0 keeps the history for ever
	ClusterOwned bool          // roles are the cluster's business: REPLICAOF is refused
}

// Options are what a Manager needs from outside.
type Options struct {
	Engine   *engine.Engine
	Taker    *snapshot.Taker
	Settings func() Settings
	FS       vfs.FS // holds files of synchronisations; nil is the system's
	Log      *slog.Logger
	// Dial opens the connection to a primary; nil dials TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Replacing is called before the data set is replaced by a synchronisation, and Replaced when it has been; may be nil.
	Replacing, Replaced func()
	Progress            Progress // may be nil
	// Save makes the RDB file with a snapshot whose moment is told under all shard locks, and opens it. The end of ctx says
	// that nobody waits for it. Where it is nil replicas get files that nobody else sees.
	Save func(ctx context.Context, atCut func()) (vfs.File, error)
	// FileSynced tells up to which offset the append-only file is on disk, and whether there is one; may be nil.
	FileSynced func() (at engine.Offset, on bool)
	// Changed is called when the role or the link changed, from any goroutine; may be nil.
	Changed func()
	// Followed is called under all shard locks when this node follows another one, or with "" none any more; may be nil.
	Followed func(addr string)
}

// Progress is told how far the load of a synchronisation is.
type Progress interface {
	BeginLoad(bytes int64) // 0 for an unknown number
	Loaded(bytes int64)
}

// Manager owns both directions of replication of one node.
type Manager struct {
	e    *engine.Engine
	opts Options
	log  *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu struct { // never held while a shard lock is taken
		sync.Mutex
		replicas  map[int64]*replica
		transfers map[*transfer]struct{}
		hints     map[int64]*hints // what REPLCONF told on connections that have not sent PSYNC yet, by session id
		follow    *follower        // nil on a primary
		last      *follower        // the last one there was, which may not have ended yet; the next one waits for it
		failover  *failover        // nil when no change of places is under way
		waits     []*ackWait
		needed    time.Time // when the history was last of use: there was a replica, or this node was one
	}
}

// New makes a manager for a primary without replicas.
func New(opts Options) *Manager {
	if opts.FS == nil {
		opts.FS = vfs.OS{}
	}
	if opts.Dial == nil {
		opts.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}
	}
	m := &Manager{e: opts.Engine, opts: opts, log: opts.Log}
	m.mu.needed = time.Now()
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.mu.replicas = make(map[int64]*replica)
	m.mu.hints = make(map[int64]*hints)
	m.mu.transfers = make(map[*transfer]struct{})
	return m
}

// Run does the periodic work until ctx ends: pings in the stream, the count of good replicas, timeouts.
func (m *Manager) Run(ctx context.Context) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	lastPing := time.Now()
	for {
		select {
		case <-ctx.Done():
			m.Close()
			return nil
		case now := <-second.C:
			m.e.AwaitThaw()
			s := m.opts.Settings()
			if now.Sub(lastPing) >= s.PingPeriod {
				lastPing = now
				m.pingReplicas()
			}
			m.countGood(now)
			m.dropSilent(s, now)
			m.dropSilentPrimary(s, now)
			m.dropSlow(now)
			if s.BacklogTTL > 0 && now.Sub(m.lastNeeded(now)) > s.BacklogTTL {
				m.dropHistory()
			}
		}
	}
}

// Close ends all links.
func (m *Manager) Close() {
	m.cancel()
	m.DropReplicas()
	m.unfollow()
	m.wg.Wait()
}

var wordsPing = []byte("*1\r\n$4\r\nPING\r\n")

// pingReplicas puts a PING into the stream, so that replicas see that the link is alive. A replica does not add to the
// stream of its primary; its own replicas get the primary's pings.
func (m *Manager) pingReplicas() {
	if m.e.Role.IsReplica() || m.replicaCount() == 0 || m.e.Pause.Mode() != engine.PauseNone {
		return
	}
	m.e.Log.AppendCommand(wordsPing)
}

func (m *Manager) replicaCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.mu.replicas)
}

// countGood tells the engine how many replicas are close enough for min-replicas-to-write.
func (m *Manager) countGood(now time.Time) {
	lag := time.Duration(m.e.Settings.MinReplicasLag.Load()) * time.Second
	good := 0
	m.mu.Lock()
	for _, r := range m.mu.replicas {
		if r.online() && (lag == 0 || now.Sub(r.lastAck()) <= lag) {
			good++
		}
	}
	m.mu.Unlock()
	m.e.Role.SetGoodReplicas(good)
}

// Recount counts the good replicas at once: what they must be has changed, or what they are.
func (m *Manager) Recount() { m.countGood(time.Now()) }

// dropSilent ends links to replicas that have not acknowledged anything for repl-timeout, or taken nothing of a snapshot.
func (m *Manager) dropSilent(s Settings, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.replicas {
		if r.online() && now.Sub(r.lastAck()) > s.Timeout {
			m.log.Warn("Disconnecting timedout replica (streaming sync)", "replica", r.name())
			r.close()
		}
		if at := r.writing.Load(); !r.online() && at != 0 && now.Sub(time.Unix(0, at)) > s.Timeout {
			m.log.Warn("Disconnecting timedout replica (full sync)", "replica", r.name())
			r.close()
		}
	}
}

// lastNeeded is when anybody last needed the history of this node: now if somebody does, or if there is none.
func (m *Manager) lastNeeded(now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.follow != nil || len(m.mu.replicas) > 0 || !m.e.Log.On() {
		m.mu.needed = now
	}
	return m.mu.needed
}

// dropHistory frees the backlog of a primary without replicas. What it writes from now on is not in the stream, so the
// history gets a new id: nobody may go on from the old one.
func (m *Manager) dropHistory() {
	m.e.LockAll()
	defer m.e.UnlockAll()
	if m.replicaCount() > 0 || m.e.Role.IsReplica() {
		return
	}
	m.mu.Lock()
	m.mu.needed = time.Now() // where the append-only file keeps the log on, there is history again from now on
	m.mu.Unlock()
	m.e.Log.NewID(NewID())
	m.e.Log.Stop()
	m.log.Info("Replication backlog freed after repl-backlog-ttl without connected replicas")
}

// dropSlow ends links to replicas that are behind by more than client-output-buffer-limit allows, whether they apply the
// stream or still receive a snapshot.
func (m *Manager) dropSlow(now time.Time) {
	limit := &m.e.Settings.OutputLimits[1]
	hard, soft, patience := limit.HardBytes.Load(), limit.SoftBytes.Load(), time.Duration(limit.SoftSeconds.Load())*time.Second
	if hard > 0 {
		hard = max(hard, m.e.Log.History().KeepBytes) // history that is kept in any case costs nothing more
	}
	if soft > 0 {
		soft = max(soft, m.e.Log.History().KeepBytes)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.replicas {
		reader := r.reader.Load()
		if reader == nil {
			continue
		}
		lag := reader.Lag()
		if soft == 0 || lag <= soft {
			r.over = time.Time{}
		} else if r.over.IsZero() {
			r.over = now
		}
		if hard > 0 && lag > hard || !r.over.IsZero() && now.Sub(r.over) >= patience {
			m.e.Stats.OutputLimit.Add(1)
			m.log.Warn("Replica is behind by more than client-output-buffer-limit allows", "replica", r.name(), "bytes", lag)
			r.close()
		}
	}
}

// DropReplicas ends all links to replicas: their history is no longer this node's.
func (m *Manager) DropReplicas() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.replicas {
		r.close()
	}
}

func (m *Manager) followed(addr string) {
	if m.opts.Followed != nil {
		m.opts.Followed(addr)
	}
}

func (m *Manager) changed() {
	if m.opts.Changed != nil {
		m.opts.Changed()
	}
}

// NewID makes a replication id: 40 hexadecimal digits.
func NewID() string {
	var b [20]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
