package object

import (
	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how values are written into RDB files and DUMP payloads: in the lowest version that can hold them.

// AppendTyped appends the type of a value and the value.
func AppendTyped(dst []byte, r keyspace.Rec, lzf *checksum.LZF) []byte {
	return AppendValue(rdb.AppendType(dst, SaveType(r)), r, lzf)
}

// SaveType is the byte that tells how AppendValue writes the value.
func SaveType(r keyspace.Rec) rdb.Type {
	switch r.Type() {
	case keyspace.TypeString:
		return rdb.TypeString
	case keyspace.TypeSet:
		return saveSetType(r)
	case keyspace.TypeZSet:
		return saveZSetType(r)
	case keyspace.TypeHash:
		return saveHashType(r)
	case keyspace.TypeList:
		return rdb.TypeListListpacks
	case keyspace.TypeStream:
		return rdb.TypeStream2
	}
	invariant.That(false, "object: a type that cannot be saved")
	return 0
}

// AppendValue appends a value as it stands behind its type. lzf compresses long strings; nil leaves them as they are.
func AppendValue(dst []byte, r keyspace.Rec, lzf *checksum.LZF) []byte {
	s := Saver{Dst: dst, LZF: lzf}
	s.Value(r)
	return s.Dst
}

const (
	// spillBytes is how much a Saver gathers before it gives it away.
	spillBytes = 256 << 10
	// compressMax is the length up to which a Saver that gives away what it has compresses a string: a longer one would need
	// as much memory again, as its length when compressed stands before it.
	compressMax = 32 << 20
)

// Saver writes a value piece by piece.
type Saver struct {
	Dst []byte        // what was written and not given away
	LZF *checksum.LZF // compresses long strings; nil leaves them as they are
	// Spill is given Dst whenever it is full, and returns what to go on with; false ends the writing. Nil keeps all in Dst.
	Spill func(full []byte) (empty []byte, more bool)

	ended bool // Spill wants no more
}

// Value writes a value as it stands behind its type. It is false when Spill ended it.
func (s *Saver) Value(r keyspace.Rec) bool {
	switch r.Type() {
	case keyspace.TypeString:
		if r.Encoding() == keyspace.EncInt {
			s.Dst = rdb.AppendInt(s.Dst, r.Int())
		} else {
			s.bytes(r.Value())
		}
	case keyspace.TypeSet:
		s.set(r)
	case keyspace.TypeZSet:
		s.zset(r)
	case keyspace.TypeHash:
		s.hash(r)
	case keyspace.TypeList:
		s.list(r)
	case keyspace.TypeStream:
		s.stream(OpenStream(r))
	default:
		invariant.That(false, "object: a type that cannot be saved")
	}
	return !s.ended
}

// goesOn gives away what was gathered when it is enough; false when nothing more is wanted.
func (s *Saver) goesOn() bool {
	if len(s.Dst) >= spillBytes && s.Spill != nil && !s.ended {
		var more bool
		s.Dst, more = s.Spill(s.Dst)
		s.ended = !more
	}
	return !s.ended
}

// bytes writes a string; false when nothing more is wanted.
func (s *Saver) bytes(b []byte) bool {
	if s.Spill == nil || len(b) <= spillBytes {
		s.Dst = rdb.AppendString(s.Dst, b, s.LZF)
		return s.goesOn()
	}
	if s.LZF != nil && len(b) <= compressMax {
		s.Dst = rdb.AppendString(s.Dst, b, s.LZF)
		return s.goesOn()
	}
	s.Dst = rdb.AppendLen(s.Dst, uint64(len(b)))
	return s.raw(b)
}

// raw writes bytes as they are, in pieces; false when nothing more is wanted.
func (s *Saver) raw(b []byte) bool {
	for len(b) > 0 && !s.ended {
		n := min(len(b), spillBytes)
		s.Dst = append(s.Dst, b[:n]...)
		b = b[n:]
		s.goesOn()
	}
	return !s.ended
}

const (
	// elemWeight is how many bytes of a string take as long to write as an element of a big value.
	elemWeight = 256
	// weighedNodes is the number of nodes whose sizes are looked at; a value of more is heavy anyway.
	weighedNodes = 8
)

// Weight is about how long it takes to write a value, measured by a string of so many bytes. It is found in no time; for a
// value of many nodes it is their number, as if each were small.
func Weight(r keyspace.Rec) int64 {
	if !r.IsRoot() {
		return int64(len(r.Value()))
	}
	root, n := r.Root()
	switch r.Encoding() {
	case keyspace.EncHashtable:
		t := table.Open(r.Arena(), root)
		return max(t.Bytes(), int64(n)*elemWeight)
	case keyspace.EncSkiplist:
		z := openRanked(r.Arena(), root)
		return max(z.bytes(), int64(n)*elemWeight)
	case keyspace.EncQuicklist:
		return weightOfList(r)
	case keyspace.EncStream:
		return weightOfStream(r)
	}
	invariant.That(false, "object: a root of an encoding that nothing weighs")
	return 0
}
