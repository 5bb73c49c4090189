package replication

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file is the primary's side of one link.

// hints are what a replica said of itself with REPLCONF.
type hints struct {
	port      int
	ip        string
	eof       bool // it understands a snapshot of unknown length
	psync2    bool // it understands a new id in +CONTINUE
	rdbOnly   bool // it wants the snapshot and nothing else
	only      bool // it wants of the snapshot only what the fields below say, not the data
	functions bool // with only: it wants the libraries of functions
}

type replicaState int32

const (
	waitSnapshot replicaState = iota
	sendSnapshot              // from the walk over the data, or into a file
	sendFile
	waitFirstAck
	streaming
)

// replica is a node that follows this one. Its goroutines own it, except the atomics.
type replica struct {
	m       *Manager
	id      int64
	s       *engine.Session
	raw     engine.Raw
	hints   hints
	state   atomic.Int32
	ack     atomic.Int64                     // offset it has processed
	fileAck atomic.Int64                     // offset up to which its append-only file is on disk, -1 unknown
	reader  atomic.Pointer[engine.LogReader] // its place in the log, nil before it has one
	over    time.Time                        // since when it is behind by more than the soft limit; Manager.Run owns it
	ackAt   atomic.Int64                     // when it said so, Unix nanoseconds
	writing atomic.Int64                     // since when a write has been under way, Unix nanoseconds; 0 while there is none
	old     bool                             // it said SYNC: it gets no answer line and sends no acknowledgements
	fresh   chan struct{}                    // signalled by each acknowledgement
	ended   chan struct{}
	endOnce sync.Once
	lines   sync.Mutex // held while an empty line is written
	hushed  bool       // no empty lines any more; lines guards it
}

func (r *replica) online() bool       { return replicaState(r.state.Load()) == streaming }
func (r *replica) lastAck() time.Time { return time.Unix(0, r.ackAt.Load()) }

func (r *replica) name() string {
	host, _, err := net.SplitHostPort(r.s.Peer.Remote)
	if err != nil {
		host = r.s.Peer.Remote // of no form known
	}
	if r.hints.ip != "" {
		host = r.hints.ip
	}
	return host + ":" + strconv.Itoa(r.hints.port)
}

// cutPort parts an address at its last colon; the brackets around the host stay.
func cutPort(addr string) (host, port string) {
	i := strings.LastIndexByte(addr, ':')
	if i < 0 {
		return addr, ""
	}
	return addr[:i], addr[i+1:]
}

func (r *replica) close() {
	r.endOnce.Do(func() {
		close(r.ended)
		r.raw.Close()
	})
}

// serve runs a link from PSYNC to its end.
func (m *Manager) serve(r *replica, unread []byte, id string, wanted int64) {
	m.mu.Lock()
	r.hints = m.takeHints(r.id)
	m.mu.replicas[r.id] = r
	m.mu.Unlock()
	r.fileAck.Store(-1)
	r.ackAt.Store(time.Now().UnixNano())
	r.s.SetFlag(engine.FlagReplica, true)
	if tcp, ok := r.raw.(interface{ SetNoDelay(bool) error }); ok && m.opts.Settings().NoDelayOff {
		_ = tcp.SetNoDelay(false) // slower and nothing else if it fails
	}
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		r.readAcks(unread)
		r.close()
	}()
	err := r.run(id, wanted)
	if err != nil && !errors.Is(err, errEnded) {
		r.fail(err)
	}
	r.close()
	m.mu.Lock()
	delete(m.mu.replicas, r.id)
	m.mu.Unlock()
	r.s.Close()
	m.checkWaits()
	m.changed()
}

var errEnded = errors.New("the link was closed")

func (r *replica) run(id string, wanted int64) error {
	if reader := r.continues(id, wanted); reader != nil {
		defer reader.Close()
		r.state.Store(int32(streaming))
		r.m.Recount()
		r.m.changed()
		return r.feed(reader)
	}
	reader, err := r.fullSync()
	if reader != nil {
		defer reader.Close()
	}
	if err != nil || r.hints.rdbOnly {
		return err
	}
	if !r.old {
		if err := r.awaitAck(); err != nil {
			return err
		}
	}
	r.state.Store(int32(streaming))
	r.m.Recount()
	r.m.log.Info("Synchronization with replica succeeded", "replica", r.name())
	r.m.changed()
	return r.feed(reader)
}

// continues answers +CONTINUE when the history that the replica has is this node's and the rest is still in the log.
func (r *replica) continues(id string, wanted int64) *engine.LogReader {
	if r.old || wanted < 0 {
		return nil
	}
	h := r.m.e.Log.History()
	known := h.On && (id == h.ID || id == h.ID2 && wanted <= h.ID2Valid)
	if !known {
		if id != "?" {
			r.m.log.Info("Partial resynchronization not accepted: replication ID mismatch", "asked", id, "have", h.ID)
			r.m.e.Stats.SyncPartErr.Add(1)
		}
		return nil
	}
	reader, err := r.m.e.Log.Reader(wanted - 1)
	if err != nil {
		r.m.log.Info("Unable to partial resync with replica for lack of backlog", "replica", r.name(), "wanted", wanted)
		r.m.e.Stats.SyncPartErr.Add(1)
		return nil
	}
	line := "+CONTINUE\r\n"
	if r.hints.psync2 {
		line = "+CONTINUE " + h.ID + "\r\n"
	}
	if r.write([]byte(line)) != nil {
		reader.Close()
		return nil
	}
	r.m.e.Stats.SyncPartial.Add(1)
	r.m.log.Info("Partial resynchronization request accepted", "replica", r.name(), "from", wanted)
	r.ack.Store(wanted - 1)
	return reader
}

// fullSync sends a snapshot and returns a reader that goes on from the moment of its cut, also when it fails.
func (r *replica) fullSync() (*engine.LogReader, error) {
	r.m.e.Stats.SyncFull.Add(1)
	t := r.m.join(r)
	err := r.await(t)
	if err == nil && t.kind.file {
		err = t.send(r)
	}
	t.leave(r)
	reader := r.reader.Load()
	if err == nil {
		r.ack.Store(reader.Offset())
		r.state.Store(int32(waitFirstAck))
	}
	return reader, err
}

// await waits until the snapshot was sent, or is in a file. As long as nothing else is sent, the replica gets empty lines.
func (r *replica) await(t *transfer) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := !t.kind.file // who is told by the transfer itself
	for {
		select {
		case <-t.done:
			if t.err == nil && !told {
				return t.announce(r)
			}
			return t.err
		case <-r.ended:
			return errEnded
		case <-tick.C:
			r.m.e.AwaitThaw()
			if !told && replicaState(r.state.Load()) == sendSnapshot {
				told = true
				if err := t.announce(r); err != nil {
					return err
				}
			}
			if err := r.signOfLife(); err != nil {
				return err
			}
		}
	}
}

// signOfLife sends an empty line, unless the replica is hushed.
func (r *replica) signOfLife() error {
	r.lines.Lock()
	defer r.lines.Unlock()
	if r.hushed {
		return nil
	}
	return r.write([]byte("\n"))
}

// hush ends the empty lines: what comes now must not be broken by them.
func (r *replica) hush() {
	r.lines.Lock()
	r.hushed = true
	r.lines.Unlock()
}

// fail ends the link for a reason that is logged.
func (r *replica) fail(err error) {
	r.m.log.Warn("Connection with replica lost", "replica", r.name(), "reason", err)
	r.close()
}

type writerFunc func(b []byte) error

func (f writerFunc) Write(b []byte) (int, error) {
	if err := f(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// write sends b within repl-timeout.
func (r *replica) write(b []byte) error {
	now := time.Now()
	_ = r.raw.SetWriteDeadline(now.Add(r.m.opts.Settings().Timeout))
	r.writing.Store(now.UnixNano())
	n, err := r.raw.Write(b)
	r.writing.Store(0)
	r.m.countOut(n)
	return err
}

// awaitAck waits until the replica has loaded the snapshot: what follows a snapshot without a length must not come before.
func (r *replica) awaitAck() error {
	for {
		select {
		case <-r.fresh:
			return nil
		case <-r.ended:
			return errEnded
		}
	}
}

// feedPieceBytes bounds one write to a replica.
const feedPieceBytes = 256 << 10

// feed copies the log to the replica until the link ends or falls too far behind.
func (r *replica) feed(reader *engine.LogReader) error {
	r.reader.Store(reader)
	for {
		b := reader.Next()
		if b == nil {
			more := reader.Wait()
			if b = reader.Next(); b == nil {
				select {
				case <-more:
				case <-r.ended:
					return errEnded
				}
				continue
			}
		}
		for len(b) > 0 {
			if r.s.Killed() {
				return errEnded // what came after that, in the same transaction perhaps, is not for it
			}
			n := min(len(b), feedPieceBytes)
			if err := r.write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
}

// readAcks reads what the replica sends, until it sends what is not for such a link.
func (r *replica) readAcks(buf []byte) {
	var parser resp.Parser
	parser.Limits.MaxBulk = 1 << 20
	var cmd resp.Command
	piece := make([]byte, 4096)
	for {
		for {
			n, err := parser.Parse(buf, &cmd)
			if err != nil {
				return
			}
			if n == 0 {
				break
			}
			if !r.onCommand(cmd.Args) {
				return
			}
			buf = buf[:copy(buf, buf[n:])]
		}
		n, err := r.raw.Read(piece)
		if err != nil {
			return
		}
		buf = append(buf, piece[:n]...)
	}
}

// onCommand takes REPLCONF ACK and ignores what else REPLCONF says. Any other command ends the link: it wants a reply, which
// would stand in the middle of the stream.
func (r *replica) onCommand(args [][]byte) (goOn bool) {
	if len(args) == 0 {
		return true
	}
	if !engine.FoldEqual(args[0], "REPLCONF") {
		r.complain(args)
		return false
	}
	if len(args) < 3 || !engine.FoldEqual(args[1], "ACK") {
		return true
	}
	off, ok := num.ParseInt(args[2])
	if !ok {
		return true
	}
	if off > r.ack.Load() {
		r.ack.Store(off)
	}
	if len(args) > 4 && engine.FoldEqual(args[3], "FACK") {
		if synced, ok := num.ParseInt(args[4]); ok {
			r.fileAck.Store(max(r.fileAck.Load(), synced))
		}
	}
	r.ackAt.Store(time.Now().UnixNano())
	r.m.Recount()
	select {
	case r.fresh <- struct{}{}:
	default:
	}
	r.m.checkWaits()
	return true
}

// complain logs that a replica has sent a command that is not for a link.
func (r *replica) complain(args [][]byte) {
	name, keyed := "<unknown>", false
	if row := r.m.e.Table().Lookup(args[0]); row != nil {
		if len(args) > 1 && row.Sub(args[1]) != nil {
			row = row.Sub(args[1])
		}
		name, keyed = row.Full, row.HasKeys()
	}
	if keyed {
		r.m.log.Warn("== CRITICAL == This master is sending an error to its replica: '-ERR Replica can't interact with the keyspace'", "command", name)
	}
	r.m.log.Warn("Replica generated a reply to command '"+name+"', disconnecting it: "+r.name(), "id", r.id)
}
