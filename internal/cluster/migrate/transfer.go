package migrate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the conversation with the target.

const (
	errConnecting = "IOERR error or timeout connecting to the client"
	errWriting    = "IOERR error or timeout writing to target instance"
	errReading    = "IOERR error or timeout reading to target instance"
	errTarget     = "ERR Target instance replied with error: "
)

const (
	// idleMax is how long a connection is kept for the next MIGRATE, and idleConns how many.
	idleMax   = 10 * time.Second
	idleConns = 64
	// batchKeys and batchBytes bound what is sent before replies are read: the target must never wait for its replies to
	// be taken.
	batchKeys  = 1000
	batchBytes = 4 << 20
	// outMax is how much memory an idle connection keeps for what it sends next.
	outMax = 64 << 10
	// chunkBytes is how much one write may take the whole timeout for.
	chunkBytes = 64 << 10
	// replyBytesMax bounds a reply line.
	replyBytesMax = 16 << 10
)

// target is a connection to a target.
type target struct {
	conn   net.Conn
	in     *bufio.Reader
	out    []byte // memory for what is sent
	db     int64  // selected there, -1 if not known
	reused bool
	timer  *time.Timer // closes it when it is idle
}

// pool keeps connections that are idle.
type pool struct {
	ctx  context.Context
	dial func(ctx context.Context, addr string) (net.Conn, error)
	mu   struct { // a leaf lock
		sync.Mutex
		idle   map[string]*target
		open   map[*target]struct{} // all, idle or not
		closed bool
	}
}

func (p *pool) init(ctx context.Context, dial func(context.Context, string) (net.Conn, error)) {
	p.ctx, p.dial = ctx, dial
	p.mu.idle = make(map[string]*target)
	p.mu.open = make(map[*target]struct{})
}

// get takes an idle connection to addr, or opens one.
func (p *pool) get(addr string, timeout time.Duration, fresh bool) (*target, error) {
	p.mu.Lock()
	t := p.mu.idle[addr]
	if t != nil && !fresh {
		delete(p.mu.idle, addr)
		t.timer.Stop()
		t.reused = true
		p.mu.Unlock()
		return t, nil
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	if err := checkAddress(addr); err != nil {
		return nil, err
	}
	conn, err := p.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	t = &target{conn: conn, in: bufio.NewReaderSize(conn, replyBytesMax), db: -1}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	p.mu.open[t] = struct{}{}
	return t, nil
}

var (
	errHost = errors.New("no host")
	errPort = errors.New("no number of a port")
)

// checkAddress refuses what the dialer would take for this machine, or for a port by the name of a service.
func checkAddress(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return errHost
	}
	if n, ok := num.ParseInt([]byte(port)); !ok || n < 1 || n > 65535 {
		return errPort
	}
	return nil
}

// put keeps a connection for a while; the one that was kept for this address before is closed.
func (p *pool) put(addr string, t *target) {
	p.mu.Lock()
	old := p.mu.idle[addr]
	keep := !p.mu.closed && (old != nil || len(p.mu.idle) < idleConns)
	if keep {
		p.mu.idle[addr] = t
		t.timer = time.AfterFunc(idleMax, func() { p.expire(addr, t) })
	}
	p.mu.Unlock()
	if old != nil && keep {
		old.timer.Stop()
		p.drop(old)
	}
	if !keep {
		p.drop(t)
	}
}

// expire closes a connection that nobody has taken meanwhile.
func (p *pool) expire(addr string, t *target) {
	p.mu.Lock()
	idle := p.mu.idle[addr] == t
	if idle {
		delete(p.mu.idle, addr)
	}
	p.mu.Unlock()
	if idle {
		p.drop(t)
	}
}

func (p *pool) drop(t *target) {
	t.conn.Close()
	p.mu.Lock()
	delete(p.mu.open, t)
	p.mu.Unlock()
}

func (p *pool) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed = true
	for t := range p.mu.open {
		if t.timer != nil {
			t.timer.Stop()
		}
		t.conn.Close()
	}
}

// transfer sends the items to the target and marks those that it has taken. After an error it reports true: another round
// would meet it again. A connection that was kept and turns out to be dead is replaced once.
func (j *job) transfer() (fatal bool) {
	p := &j.m.pool
	for try := 0; ; try++ {
		t, err := p.get(j.addr, j.timeout, try > 0)
		if err != nil {
			j.fail(connectionFailure(err))
			return true
		}
		text, taken, err := j.sendAll(t)
		if err == nil && j.failure == "" {
			p.put(j.addr, t)
			return false
		}
		if err == nil { // the target refused something: its database is not known any more
			t.db = -1
			p.put(j.addr, t)
			return true
		}
		p.drop(t)
		if t.reused && try == 0 && taken == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		j.fail(text)
		return true
	}
}

// connectionFailure is the text for a connection that did not come about. Redis does not wait for one: that it is refused shows
// when it writes.
func connectionFailure(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errPort) {
		return errWriting
	}
	return errConnecting
}

// fail notes the first error.
func (j *job) fail(text string) {
	if j.failure == "" {
		j.failure = text
	}
}

// sendAll sends batch after batch; taken counts the items whose reply came. text is what to reply for err.
func (j *job) sendAll(t *target) (text string, taken int, err error) {
	rest := j.items
	greeting := j.greeting(t)
	for len(rest) > 0 || greeting.lines > 0 {
		out := append(t.out[:0], greeting.bytes...)
		n, now := 0, int64(j.m.e.Clock.Now())
		for n < len(rest) && n < batchKeys && len(out) < batchBytes {
			out = j.appendRestore(out, rest[n], now)
			n++
		}
		if cap(out) <= outMax {
			t.out = out
		}
		if err := t.write(out, j.timeout); err != nil {
			return errWriting, taken, err
		}
		for range greeting.lines {
			line, err := t.line(j.timeout)
			if err != nil {
				return errReading, taken, err
			}
			j.check(line)
		}
		refused := j.failure != ""
		for _, it := range rest[:n] {
			line, err := t.line(j.timeout)
			if err != nil {
				return errReading, taken, err
			}
			taken++
			it.acked = j.check(line) && !refused
		}
		rest, greeting = rest[n:], opening{}
	}
	t.db = j.db
	return "", taken, nil
}

// opening is what comes before the first key: AUTH and SELECT.
type opening struct {
	bytes []byte
	lines int // replies to expect
}

func (j *job) greeting(t *target) (o opening) {
	if j.auth != nil {
		o.bytes = resp.AppendCommand(o.bytes, j.auth...)
		o.lines++
	}
	if t.db != j.db {
		o.bytes = resp.AppendCommand(o.bytes, []byte("SELECT"), num.AppendInt(nil, j.db))
		o.lines++
	}
	return o
}

// check looks at a reply; an error becomes that of the command.
func (j *job) check(line []byte) bool {
	text, refused := bytes.CutPrefix(line, []byte("-"))
	if refused {
		j.fail(errTarget + string(text))
	}
	return !refused
}

func (j *job) appendRestore(dst []byte, it *item, now int64) []byte {
	name, words := "RESTORE", 4
	if j.m.e.ClusterOn {
		name = "RESTORE-ASKING"
	}
	if j.replace || it.replace {
		words++
	}
	dst = resp.AppendBulkString(resp.AppendArray(dst, words), name)
	dst = resp.AppendBulk(dst, it.key)
	var digits [20]byte
	dst = resp.AppendBulk(dst, it.appendTTL(digits[:0], now))
	dst = resp.AppendBulk(dst, it.payload)
	if words > 4 {
		dst = resp.AppendBulkString(dst, "REPLACE")
	}
	return dst
}

// withdraw deletes at the target what was deleted here while it was on its way. false after an error.
func (j *job) withdraw(gone []*item) bool {
	var out []byte
	lines := 0
	for _, it := range gone {
		if j.m.e.ClusterOn {
			out = resp.AppendCommand(out, []byte("ASKING"))
			lines++
		}
		out = resp.AppendCommand(out, []byte("DEL"), it.key)
		lines++
	}
	t, err := j.m.pool.get(j.addr, j.timeout, false)
	if err != nil {
		j.fail(errConnecting)
		return false
	}
	if greeting := j.greeting(t); greeting.lines > 0 {
		out = append(greeting.bytes, out...)
		lines += greeting.lines
	}
	if err := t.write(out, j.timeout); err != nil {
		j.m.pool.drop(t)
		j.fail(errWriting)
		return false
	}
	for range lines {
		line, err := t.line(j.timeout)
		if err != nil {
			j.m.pool.drop(t)
			j.fail(errReading)
			return false
		}
		j.check(line)
	}
	t.db = j.db
	j.m.pool.put(j.addr, t)
	return j.failure == ""
}

// write sends b in chunks, each within the timeout.
func (t *target) write(b []byte, timeout time.Duration) error {
	for len(b) > 0 {
		n := min(len(b), chunkBytes)
		_ = t.conn.SetWriteDeadline(time.Now().Add(timeout))
		if _, err := t.conn.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// line reads a reply line without its end. It lives until the next call.
func (t *target) line(timeout time.Duration) ([]byte, error) {
	if here, _ := t.in.Peek(t.in.Buffered()); bytes.IndexByte(here, '\n') < 0 {
		_ = t.conn.SetReadDeadline(time.Now().Add(timeout))
	}
	line, err := t.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
