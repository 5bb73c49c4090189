// Package migrate moves keys to another server: the command MIGRATE.
//
// A round trip under the lock of a shard would stop a 64th of the node for as long as the target takes, so the command
// leaves its event loop: it copies the values under the lock, transfers the copies without it, and then, under the lock
// again, removes the keys whose value is still the one that was transferred. A key that was changed meanwhile is
// transferred again over its first copy, one that was deleted is deleted at the target too. A key that keeps changing gets
// its last round under a pause of writes, so a round always ends with every key in one place. docs/adr has the reasons.
package migrate

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/rdb"
)

// Options are what a Migrator needs from outside.
type Options struct {
	Engine *engine.Engine
	Log    *slog.Logger
	// Dial opens connections to targets; nil dials TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

func (o *Options) validate() error {
	if o.Engine == nil || o.Log == nil {
		return errors.New("migrate: engine and log are needed")
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}
	}
	return nil
}

// Migrator runs the MIGRATE commands of one node.
type Migrator struct {
	e      *engine.Engine
	log    *slog.Logger
	pool   pool
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	compressors sync.Pool // of *checksum.LZF: one is 256 KB, too much for every command to make its own

	worker struct { // taken before shard locks, held for no round trip
		sync.Mutex
		w       *engine.Worker
		lzf     checksum.LZF
		scratch []byte // for the value of a key that is looked at again
	}
	pauses struct { // a leaf lock but for that of the engine's pause
		sync.Mutex
		count int // jobs that need writes to be paused
	}
}

// New makes a Migrator.
func New(opts Options) (*Migrator, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	m := &Migrator{e: opts.Engine, log: opts.Log}
	m.compressors.New = func() any { return new(checksum.LZF) }
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.pool.init(m.ctx, opts.Dial)
	return m, nil
}

// Close breaks what is under way and closes the connections that are kept.
func (m *Migrator) Close() {
	m.cancel()
	m.pool.closeAll()
	m.wg.Wait()
}

// Handlers is the command MIGRATE.
func (m *Migrator) Handlers() map[string]engine.Handler {
	return map[string]engine.Handler{"migrate": {Run: m.cmdMigrate}}
}

const (
	errKeysOption = "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
)

// timeoutDefault is used for a timeout of 0 or less, as in Redis.
const timeoutDefault = time.Second

// request is what a client asked for.
type request struct {
	addr          string
	db            int64 // at the target
	timeout       time.Duration
	copy, replace bool
	auth          [][]byte // the words of AUTH, nil for none
}

// parse reads the arguments; false when an error has been replied.
func parse(c *engine.Ctx) (r request, ok bool) {
	for i := 6; i < len(c.Args); i++ {
		more := len(c.Args) - 1 - i
		switch {
		case c.ArgIs(i, "COPY"):
			r.copy = true
		case c.ArgIs(i, "REPLACE"):
			r.replace = true
		case c.ArgIs(i, "AUTH") && more >= 1:
			r.auth = clone([][]byte{[]byte("AUTH"), c.Args[i+1]})
			i++
		case c.ArgIs(i, "AUTH2") && more >= 2:
			r.auth = clone([][]byte{[]byte("AUTH"), c.Args[i+1], c.Args[i+2]})
			i += 2
		case c.ArgIs(i, "KEYS"):
			if len(c.Args[3]) != 0 {
				c.Err(errKeysOption)
				return r, false
			}
			i = len(c.Args)
		default:
			c.Err(engine.ErrSyntax)
			return r, false
		}
	}
	millis, ok := c.Int(5)
	if !ok {
		return r, false
	}
	if r.db, ok = c.Int(4); !ok {
		return r, false
	}
	r.timeout = timeoutDefault
	if millis > 0 {
		r.timeout = time.Duration(min(millis, timeoutMaxMillis)) * time.Millisecond
	}
	r.addr = net.JoinHostPort(string(c.Args[1]), string(c.Args[2]))
	return r, true
}

// timeoutMaxMillis keeps the arithmetic of deadlines sane: a day.
const timeoutMaxMillis = 24 * 60 * 60 * 1000

func clone(words [][]byte) [][]byte {
	for i, w := range words {
		words[i] = append([]byte(nil), w...)
	}
	return words
}

func (m *Migrator) cmdMigrate(c *engine.Ctx) {
	r, ok := parse(c)
	switch {
	case !ok:
		return
	case m.ctx.Err() != nil:
		c.Err(errReading)
		return
	}
	j := &job{m: m, request: r, from: c.DB()}
	j.copyValues(c)
	if len(j.items) == 0 {
		c.Simple("NOKEY")
		return
	}
	if c.InExec() {
		j.runInside(c)
		return
	}
	wait := c.Suspend(engine.WaitWork, 0, nil, nil)
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		text, at := j.run()
		wait.Resume(func(c *engine.Ctx) {
			c.Wrote(at)
			if text != "" {
				c.Err(text)
				return
			}
			c.OK()
		})
	}()
}

// CachedSockets is the number of connections that are kept for the next MIGRATE.
func (m *Migrator) CachedSockets() int {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return len(m.pool.mu.idle)
}

// item is one key on its way, with the value as it was copied.
type item struct {
	key      []byte
	payload  []byte // as DUMP gives it
	value    []byte // payload without its end
	expireAt int64  // ms, 0 for never
	replace  bool   // the target has an earlier copy
	acked    bool   // the target has this copy
}

// copyValues makes an item of each key that is there; the keys are locked.
func (j *job) copyValues(c *engine.Ctx) {
	lzf := j.m.compressors.Get().(*checksum.LZF)
	defer j.m.compressors.Put(lzf)
	block := make([]item, c.NumKeys()) // the items and the bytes of many small ones lie together
	var bytes []byte
	for i := range block {
		rec, ok := c.Find(i)
		if !ok {
			continue
		}
		it, start := &block[i], len(bytes)
		bytes = append(bytes, c.Key(i).Bytes...)
		it.key = bytes[start:len(bytes):len(bytes)]
		if isSmall(rec) {
			bytes = it.take(bytes, rec, lzf)
		} else {
			it.take(nil, rec, lzf)
		}
		j.items = append(j.items, it)
	}
}

// take copies the value of a record, whose shard is locked, behind dst.
func (it *item) take(dst []byte, rec keyspace.Rec, lzf *checksum.LZF) []byte {
	start := len(dst)
	dst = appendValue(dst, rec, lzf)
	end := len(dst)
	dst = rdb.AppendDumpFooter(dst, start)
	it.payload, it.value, it.expireAt = dst[start:len(dst):len(dst)], dst[start:end], rec.ExpireAt()
	return dst
}

// smallMax is the length up to which values are sent as they are. The time to compress them, here twice and at the target once
// more, is worth more than the bytes that are saved.
const smallMax = 1 << 10

func isSmall(rec keyspace.Rec) bool { return !rec.IsRoot() && len(rec.Value()) <= smallMax }

// appendValue is the value as DUMP gives it, without the end.
func appendValue(dst []byte, rec keyspace.Rec, lzf *checksum.LZF) []byte {
	if isSmall(rec) {
		lzf = nil
	}
	return object.AppendTyped(dst, rec, lzf)
}

// appendTTL is the time that is left, for RESTORE: at least 1 for a key that expires at all.
func (it *item) appendTTL(dst []byte, now int64) []byte {
	if it.expireAt == 0 {
		return append(dst, '0')
	}
	return num.AppendInt(dst, max(it.expireAt-now, 1))
}
