package engine

import (
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/resp"
)

// Texts of common errors, as Redis words them. A text without a leading code gets ERR when it is sent.
const (
	ErrSyntax         = "ERR syntax error"
	ErrNotInteger     = "ERR value is not an integer or out of range"
	ErrNotFloat       = "ERR value is not a valid float"
	ErrNoSuchKey      = "ERR no such key"
	ErrWrongType      = "WRONGTYPE Operation against a key holding the wrong kind of value"
	ErrOverflow       = "ERR increment or decrement would overflow"
	ErrNaNOrInf       = "ERR increment would produce NaN or Infinity"
	ErrOffsetRange    = "ERR offset is out of range"
	ErrIndexRange     = "ERR index out of range"
	ErrTooBig         = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	ErrDBIndex        = "ERR DB index is out of range"
	ErrOOM            = "OOM command not allowed when used memory > 'maxmemory'."
	ErrNoAuth         = "NOAUTH Authentication required."
	ErrReadOnly       = "READONLY You can't write against a read only replica."
	ErrMasterDown     = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
	ErrNoReplicas     = "NOREPLICAS Not enough good replicas to write."
	ErrLoading        = "LOADING Redis is loading the dataset in memory"
	ErrBusyKey        = "BUSYKEY Target key name already exists."
	ErrCrossSlot      = "CROSSSLOT Keys in request don't hash to the same slot"
	ErrTryAgain       = "TRYAGAIN Multiple keys request during rehashing of slot"
	ErrClusterDown    = "CLUSTERDOWN The cluster is down"
	ErrClusterRead    = "CLUSTERDOWN The cluster is down and only accepts read commands"
	ErrSlotUnbound    = "CLUSTERDOWN Hash slot not served"
	ErrExecAbort      = "EXECABORT Transaction discarded because of previous errors."
	ErrUnknownSub     = "ERR unknown subcommand '%s'. Try %s HELP."
	ErrDiskWrite      = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error."
	ErrBadDump        = "ERR Bad data format"
	ErrInvalidExpire  = "ERR invalid expire time in '%s' command"
	ErrNestedMulti    = "ERR MULTI calls can not be nested"
	ErrWatchInMulti   = "ERR WATCH inside MULTI is not allowed"
	ErrExecNoMulti    = "ERR EXEC without MULTI"
	ErrDiscardNoMulti = "ERR DISCARD without MULTI"
)

// OK replies +OK.
func (c *Ctx) OK() { c.W.Out.buf = append(c.W.Out.buf, "+OK\r\n"...) }

// Simple replies a status.
func (c *Ctx) Simple(s string) { c.W.Out.buf = resp.AppendSimple(c.W.Out.buf, s) }

// Int replies an integer.
func (c *Ctx) ReplyInt(n int64) { c.W.Out.buf = resp.AppendInt(c.W.Out.buf, n) }

// Bool01 replies 1 or 0.
func (c *Ctx) Bool01(b bool) {
	if b {
		c.ReplyInt(1)
		return
	}
	c.ReplyInt(0)
}

// Bulk replies a byte string; large ones are copied once into a segment of their own.
func (c *Ctx) Bulk(b []byte) {
	o := &c.W.Out
	if len(b) < bigReplyBytes {
		if len(o.buf) >= PieceBytes {
			o.piece()
		}
		o.buf = resp.AppendBulk(o.buf, b)
		return
	}
	o.addBulk(b)
}

// BulkMade replies a byte string that is made here: fn appends it to an empty buffer. It will be about so many bytes long; a
// large one is not copied, and is best a little shorter than was said.
func (c *Ctx) BulkMade(size int, fn func(dst []byte) []byte) {
	if size < bigReplyBytes {
		b := fn(c.W.Scratch())
		c.Bulk(b)
		c.W.SetScratch(b)
		return
	}
	const frame = 64 // for a checksum, the line end, and the like
	o, room := &c.W.Out, c.W.Spare.Get(size+frame, size+frame)
	b := fn(room)
	o.buf = resp.AppendBulkLen(o.buf, len(b))
	o.seal()
	if b = append(b, '\r', '\n'); cap(b) != cap(room) {
		c.W.Spare.Put(room)
	}
	o.segs = append(o.segs, b)
	o.size += len(b)
}

// BulkString replies a string.
func (c *Ctx) BulkString(s string) { c.W.Out.buf = resp.AppendBulkString(c.W.Out.buf, s) }

// Null replies the null of the client's protocol version.
func (c *Ctx) Null() { c.W.Out.buf = resp.AppendNull(c.W.Out.buf, c.S.proto) }

// NullArray replies *-1, or the RESP3 null.
func (c *Ctx) NullArray() { c.W.Out.buf = resp.AppendNullArray(c.W.Out.buf, c.S.proto) }

// Array opens an array of n elements.
func (c *Ctx) Array(n int) { c.W.Out.buf = resp.AppendArray(c.W.Out.buf, n) }

// Map opens a map of n pairs.
func (c *Ctx) Map(n int) { c.W.Out.buf = resp.AppendMap(c.W.Out.buf, c.S.proto, n) }

// Set opens a set of n elements.
func (c *Ctx) Set(n int) { c.W.Out.buf = resp.AppendSet(c.W.Out.buf, c.S.proto, n) }

// Double replies a float.
func (c *Ctx) Double(f float64) { c.W.Out.buf = resp.AppendDouble(c.W.Out.buf, c.S.proto, f) }

// Verbatim replies a verbatim text ("txt"), in RESP2 a bulk string.
func (c *Ctx) Verbatim(text string) {
	c.W.Out.buf = resp.AppendVerbatim(c.W.Out.buf, c.S.proto, "txt", text)
}

// Append gives codecs the raw buffer: fn appends a well-formed reply.
func (c *Ctx) Append(fn func(dst []byte, v resp.Version) []byte) {
	c.W.Out.buf = fn(c.W.Out.buf, c.S.proto)
}

// AppendPart is Append for replies that may become long: they are best appended by several calls, each of which ends when
// there are PieceBytes. What was appended before may have become a piece, so fn must not know of a place in it.
func (c *Ctx) AppendPart(fn func(dst []byte, v resp.Version) []byte) {
	if len(c.W.Out.buf) >= PieceBytes {
		c.W.Out.piece()
	}
	c.Append(fn)
}

// Err replies an error. The text carries its code ("ERR ...", "WRONGTYPE ...").
func (c *Ctx) Err(text string) {
	c.failed = true
	c.e.Errors.count(text)
	c.W.Out.buf = resp.AppendError(c.W.Out.buf, text)
}

// ArityErr replies that the number of arguments is wrong.
func (c *Ctx) ArityErr() {
	c.Err("ERR wrong number of arguments for '" + c.Cmd.Full + "' command")
}

// Failed says whether the handler replied an error.
func (c *Ctx) Failed() bool { return c.failed }

// Help replies the sub-commands of a container in the form that redis-cli shows: lines is a usage, an indented line or more
// on what it does, the next usage and so on.
func (c *Ctx) Help(lines ...string) {
	c.Array(len(lines) + 3)
	c.Simple(strings.ToUpper(string(c.Args[0])) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, line := range lines {
		c.Simple(line)
	}
	c.Simple("HELP")
	c.Simple("    Show these lines.")
}

// Deferred collects a reply of unknown length: open it, append the elements, close it with their number.
type Deferred struct{ at outMark }

// Defer begins an aggregate whose length is not known yet.
func (c *Ctx) Defer() Deferred { return Deferred{c.W.Out.mark()} }

// CloseArray puts the array header in front of what was appended since Defer.
func (c *Ctx) CloseArray(d Deferred, n int) {
	var head [headMax]byte
	c.W.Out.putInFront(d.at, resp.AppendArray(head[:0], n))
}

// CloseSet puts the set header in front of what was appended since Defer.
func (c *Ctx) CloseSet(d Deferred, n int) {
	var head [headMax]byte
	c.W.Out.putInFront(d.at, resp.AppendSet(head[:0], c.S.proto, n))
}

// CloseScan makes the reply of a scan of what was appended since Defer, n elements: the cursor to go on with, and the
// elements.
func (c *Ctx) CloseScan(d Deferred, cursor uint64, n int) {
	var head [3 * headMax]byte
	var text [20]byte
	h := resp.AppendArray(head[:0], 2)
	h = resp.AppendBulk(h, strconv.AppendUint(text[:0], cursor, 10))
	c.W.Out.putInFront(d.at, resp.AppendArray(h, n))
}

// headMax is the room for the header of an aggregate or a cursor.
const headMax = 32
