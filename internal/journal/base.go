package journal

import (
	"context"
	"io"
	"math"
	"strconv"

	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/snapshot"
)

// This file writes a base as commands (aof-use-rdb-preamble no): the snapshot as an RDB file goes through a pipe to a decoder
// that turns each value into the commands that make it.

// writeCommands writes a snapshot as commands behind head.
func writeCommands(ctx context.Context, w io.Writer, snap *snapshot.Snapshot, head []byte) error {
	r, pipe := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := snap.WriteTo(ctx, pipe)
		pipe.CloseWithError(err) // nil is io.EOF
		done <- err
	}()
	b := &commander{w: w, buf: head}
	_, err := rdb.NewDecoder(r, rdb.Options{}).Decode(b)
	if err == nil {
		err = b.flush(0)
	}
	r.CloseWithError(err)
	if failed := <-done; failed != nil {
		return failed
	}
	return err
}

const (
	itemsPerCommand = 64        // elements that one command adds, as in Redis
	pieceBytes      = 256 << 10 // is gathered before it is written
)

// commander is an rdb.Builder that writes commands.
type commander struct {
	rdb.Nop
	w    io.Writer
	buf  []byte
	db   int
	meta *rdb.Meta

	verb  string // of the elements that are gathered
	items [][]byte

	stream   streamState
	expiries [][]byte // field, time, field, time...
}

// flush writes what was gathered when it is at least atLeast bytes.
func (b *commander) flush(atLeast int) error {
	if len(b.buf) < max(atLeast, 1) {
		return nil
	}
	_, err := b.w.Write(b.buf)
	b.buf = b.buf[:0]
	return err
}

func (b *commander) add(args ...[]byte) error {
	b.buf = resp.AppendCommand(b.buf, args...)
	return b.flush(pieceBytes)
}

// words makes arguments of texts.
func words(list ...string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func integer(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// Function implements rdb.Builder.
func (b *commander) Function(code []byte) error {
	return b.add([]byte("FUNCTION"), []byte("LOAD"), code)
}

// SelectDB implements rdb.Builder.
func (b *commander) SelectDB(db int) error {
	b.db = db
	return b.add([]byte("SELECT"), integer(int64(db)))
}

// Key implements rdb.Builder.
func (b *commander) Key(m *rdb.Meta) error {
	b.meta = m
	b.expiries = b.expiries[:0]
	return nil
}

// String implements rdb.ValueBuilder.
func (b *commander) String(v []byte) error { return b.add([]byte("SET"), b.meta.Key, v) }

// Int implements rdb.ValueBuilder.
func (b *commander) Int(v int64) error { return b.add([]byte("SET"), b.meta.Key, integer(v)) }

// Packed implements rdb.ValueBuilder: elements are wanted one by one.
func (b *commander) Packed(p rdb.Packed) (bool, error) {
	switch p.Kind {
	case rdb.KindList:
		b.verb = "RPUSH"
	case rdb.KindSet:
		b.verb = "SADD"
	case rdb.KindZSet:
		b.verb = "ZADD"
	case rdb.KindHash:
		b.verb = "HMSET"
	}
	return false, nil
}

// ListStart implements rdb.ValueBuilder.
func (b *commander) ListStart(uint64) error { b.verb = "RPUSH"; return nil }

// SetStart implements rdb.ValueBuilder.
func (b *commander) SetStart(uint64) error { b.verb = "SADD"; return nil }

// ZSetStart implements rdb.ValueBuilder.
func (b *commander) ZSetStart(uint64) error { b.verb = "ZADD"; return nil }

// HashStart implements rdb.ValueBuilder.
func (b *commander) HashStart(uint64) error { b.verb = "HMSET"; return nil }

// ListElem implements rdb.ValueBuilder.
func (b *commander) ListElem(v []byte) error { b.verb = "RPUSH"; return b.item(v) }

// SetElem implements rdb.ValueBuilder.
func (b *commander) SetElem(v []byte) error { b.verb = "SADD"; return b.item(v) }

// ZSetElem implements rdb.ValueBuilder.
func (b *commander) ZSetElem(member []byte, score float64) error {
	b.verb = "ZADD"
	return b.item(scoreText(score), member)
}

// scoreText is a score that reads back as itself.
func scoreText(f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return []byte("inf")
	case math.IsInf(f, -1):
		return []byte("-inf")
	}
	return num.AppendFixed17(nil, f)
}

// HashField implements rdb.ValueBuilder.
func (b *commander) HashField(field, value []byte, expireAt int64) error {
	b.verb = "HMSET"
	if expireAt != 0 {
		b.expiries = append(b.expiries, append([]byte(nil), field...), integer(expireAt))
	}
	return b.item(field, value)
}

// item gathers what one command can add.
func (b *commander) item(parts ...[]byte) error {
	for _, p := range parts {
		b.items = append(b.items, append([]byte(nil), p...))
	}
	if len(b.items) < itemsPerCommand*len(parts) {
		return nil
	}
	return b.endItems()
}

func (b *commander) endItems() error {
	if len(b.items) == 0 {
		return nil
	}
	args := append([][]byte{[]byte(b.verb), b.meta.Key}, b.items...)
	clear(b.items)
	b.items = b.items[:0]
	return b.add(args...)
}

// End implements rdb.ValueBuilder.
func (b *commander) End() error {
	if err := b.endItems(); err != nil {
		return err
	}
	if err := b.endStream(); err != nil {
		return err
	}
	for i := 0; i < len(b.expiries); i += 2 {
		if err := b.add([]byte("HPEXPIREAT"), b.meta.Key, b.expiries[i+1], []byte("FIELDS"), []byte("1"), b.expiries[i]); err != nil {
			return err
		}
	}
	if b.meta.ExpireAt != 0 {
		return b.add([]byte("PEXPIREAT"), b.meta.Key, integer(b.meta.ExpireAt))
	}
	return nil
}
