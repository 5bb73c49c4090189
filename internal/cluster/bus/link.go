package bus

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds the connections of the bus.

// links are the open connections by id.
type links struct {
	lastAccepted atomic.Uint64
	strangers    atomic.Int64 // accepted links whose peer is not known
	mu           struct {     // a leaf lock, but for that of a link
		sync.Mutex
		byID   map[core.LinkID]*link
		closed bool
	}
}

// link is one connection.
type link struct {
	id    core.LinkID
	known atomic.Bool   // the peer is a node that core knows
	done  chan struct{} // a packet has been stepped
	wake  chan struct{} // the writer has something to do
	quit  context.CancelFunc

	mu struct { // a leaf lock
		sync.Mutex
		conn    net.Conn // nil while it is being dialed
		queue   net.Buffers
		bytes   int // in queue and being written
		closing bool
	}
}

func (ls *links) init() { ls.mu.byID = make(map[core.LinkID]*link) }

// add registers a link; false when the bus has stopped.
func (ls *links) add(l *link) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !ls.mu.closed {
		ls.mu.byID[l.id] = l
	}
	return !ls.mu.closed
}

func (ls *links) get(id core.LinkID) *link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.mu.byID[id]
}

func (ls *links) remove(id core.LinkID) {
	ls.mu.Lock()
	delete(ls.mu.byID, id)
	ls.mu.Unlock()
}

// close ends a link; what is queued may still leave.
func (ls *links) close(id core.LinkID) {
	if l := ls.get(id); l != nil {
		l.closeSoon()
	}
}

func (ls *links) closeAll() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.mu.closed = true
	for _, l := range ls.mu.byID {
		l.closeNow()
	}
}

// dropStranger breaks the accepted link that has been that of a stranger for longest. A node makes itself known by its first
// packet, so whoever holds links without a word makes room for it.
func (ls *links) dropStranger() {
	ls.mu.Lock()
	var oldest *link
	for id, l := range ls.mu.byID {
		if id&core.LinkAccepted != 0 && !l.known.Load() && (oldest == nil || id < oldest.id) && !l.isClosing() {
			oldest = l
		}
	}
	ls.mu.Unlock()
	if oldest != nil {
		oldest.closeNow()
	}
}

// queued is how many bytes wait to be sent, for CLUSTER LINKS.
func (ls *links) queued(id core.LinkID) int {
	l := ls.get(id)
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.bytes
}

func newLink(id core.LinkID) *link {
	return &link{id: id, done: make(chan struct{}, 1), wake: make(chan struct{}, 1), quit: func() {}}
}

func (l *link) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.closing
}

// closeNow breaks the connection; its reader notices.
func (l *link) closeNow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closing = true
	l.quit()
	if l.mu.conn != nil {
		l.mu.conn.Close()
	}
	l.signal()
}

// lingerMax is how long a link that core has closed may take to send what is queued.
const lingerMax = time.Second

func (l *link) closeSoon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closing = true
	if l.mu.conn == nil {
		l.quit()
		return
	}
	_ = l.mu.conn.SetWriteDeadline(time.Now().Add(lingerMax))
	l.signal()
}

func (l *link) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// attach gives a link its connection; false when it has been closed meanwhile.
func (l *link) attach(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.conn = conn
	return !l.mu.closing
}

// send queues a packet; a link whose queue is full is closed.
func (b *Bus) send(id core.LinkID, packet []byte) {
	l := b.links.get(id)
	if l == nil {
		return
	}
	l.mu.Lock()
	full := l.mu.bytes > 0 && l.mu.bytes+len(packet) > b.settings.Load().sendBytesMax()
	if !full && !l.mu.closing {
		l.mu.queue = append(l.mu.queue, packet)
		l.mu.bytes += len(packet)
	}
	l.mu.Unlock()
	if full {
		b.exceeded.Add(1)
		b.log.Warn("Freeing cluster link due to exceeding send buffer memory limit.", "link", uint64(id))
		l.closeNow()
		return
	}
	l.signal()
}

// write sends what is queued until the link ends.
func (b *Bus) write(l *link, conn net.Conn) {
	for {
		l.mu.Lock()
		batch, closing := l.mu.queue, l.mu.closing
		l.mu.queue = nil
		l.mu.Unlock()
		if len(batch) == 0 {
			if closing {
				conn.Close()
				return
			}
			select {
			case <-l.wake:
				continue
			case <-b.stopped:
				return
			}
		}
		n, err := batch.WriteTo(conn)
		l.mu.Lock()
		l.mu.bytes -= int(n)
		l.mu.Unlock()
		if err != nil {
			conn.Close()
			return
		}
	}
}

const (
	dialMin = 200 * time.Millisecond
	dialMax = 10 * time.Second
)

// connect opens a link to addr.
func (b *Bus) connect(id core.LinkID, addr string) {
	l := newLink(id)
	l.known.Store(true)
	within := min(max(b.settings.Load().Core.NodeTimeout.Duration(), dialMin), dialMax)
	ctx, cancel := context.WithTimeout(context.Background(), within)
	l.quit = cancel
	if !b.links.add(l) {
		cancel()
		return
	}
	b.goDo(func() {
		defer b.lost(l)
		conn, err := b.opts.Dial(ctx, addr)
		cancel()
		if err != nil {
			b.log.Debug("Connection with Node at " + addr + " failed: " + err.Error())
			return
		}
		defer conn.Close()
		if l.attach(conn) && b.post(letter{event: core.Connected{Link: id, Remote: hostOf(conn.RemoteAddr())}}) {
			b.converse(l, conn)
		}
	})
}

// lost tells the core that a link is gone.
func (b *Bus) lost(l *link) {
	b.links.remove(l.id)
	b.post(letter{event: core.Disconnected{Link: l.id}})
}

// converse reads and writes until the link ends.
func (b *Bus) converse(l *link, conn net.Conn) {
	b.goDo(func() { b.write(l, conn) })
	b.read(l, conn)
	l.closeNow()
}

const (
	// strangersMax bounds accepted links whose peer is no known node: more than nodes that join at the same time. One more takes
	// the place of the oldest.
	strangersMax = 1024
	// strangerIdle is how long such a link may be silent.
	strangerIdle = 30 * time.Second
	// strangerBytesMax bounds a packet of such a link. A Meet mentions a tenth of the sender's nodes: 13 KB in a cluster
	// of 1000.
	strangerBytesMax = 256 << 10
	// readBytes is the first size of a link's buffer: most packets fit.
	readBytes = 16 << 10
	// keepBytes is how large a buffer may stay when it is empty.
	keepBytes = 1 << 20
)

// read hands packets to the core until the link ends. Garbage ends this link only.
func (b *Bus) read(l *link, conn net.Conn) {
	var p wire.Packet
	buf := make([]byte, 0, readBytes)
	counted := l.id&core.LinkAccepted != 0
	defer func() {
		if counted {
			b.links.strangers.Add(-1)
		}
	}()
	for {
		most := wire.DefaultMaxBytes
		if !l.known.Load() {
			most = strangerBytesMax
			_ = conn.SetReadDeadline(time.Now().Add(strangerIdle))
		} else if counted {
			counted = false
			b.links.strangers.Add(-1)
			_ = conn.SetReadDeadline(time.Time{})
		}
		n, err := wire.Parse(buf, most, &p)
		switch {
		case n == 0 && err != nil:
			b.log.Debug("Closing a cluster link that is none", "remote", conn.RemoteAddr().String(), "reason", err)
			return
		case err != nil:
			b.log.Debug("Dropping a bus packet", "remote", conn.RemoteAddr().String(), "type", p.Type.String(), "reason", err)
		case n > 0 && b.drops(p.Type):
			b.log.Warn("Packet that matches debug drop filter", "type", p.Type.String())
		case n > 0:
			if !b.post(letter{event: core.Received{Link: l.id, Packet: &p}, link: l, done: l.done}) {
				return
			}
		}
		if n > 0 {
			buf = buf[:copy(buf, buf[n:])]
			continue
		}
		if buf, err = readMore(conn, buf); err != nil {
			return
		}
	}
}

// readMore reads once. The buffer grows with what has come, never on the word of a length field.
func readMore(conn net.Conn, buf []byte) ([]byte, error) {
	switch {
	case len(buf) == 0 && cap(buf) > keepBytes:
		buf = make([]byte, 0, readBytes)
	case len(buf) == cap(buf):
		grown := make([]byte, len(buf), 2*cap(buf))
		copy(grown, buf)
		buf = grown
	}
	n, err := conn.Read(buf[len(buf):cap(buf)])
	if n > 0 {
		err = nil
	}
	return buf[:len(buf)+n], err
}

// hostOf is the address of one end of a connection.
func hostOf(a net.Addr) wire.Host {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return wire.Host{}
	}
	h, _ := wire.ParseHost(at.Addr().Unmap().WithZone("").String())
	return h
}
