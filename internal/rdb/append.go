package rdb

import (
	"encoding/binary"
	"math"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/num"
)

const (
	intTextMax    = 11 // the longest text of a 32-bit number
	compressAbove = 20 // shorter strings are not compressed
)

// AppendLen writes a length.
func AppendLen(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, len6|byte(n))
	case n < 1<<14:
		return append(dst, len14|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, len32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, len64), n)
}

// AppendString writes a string in the form that Redis would choose: as a number, compressed or plain. lzf is the memory of
// the compressor; nil means that strings are not compressed (rdbcompression no).
func AppendString(dst, s []byte, lzf *checksum.LZF) []byte {
	if len(s) <= intTextMax {
		if v, ok := num.ParseInt(s); ok && v == int64(int32(v)) {
			return AppendInt(dst, v)
		}
	}
	if lzf != nil && len(s) > compressAbove {
		if out, ok := appendLZF(dst, s, lzf); ok {
			return out
		}
	}
	return append(AppendLen(dst, uint64(len(s))), s...)
}

// lzfHeadMax is the room that the head of a compressed string may take: its mark and two lengths.
const lzfHeadMax = 1 + 9 + 9

// appendLZF writes s compressed behind a gap for the head, then closes the gap: the length of the compressed bytes comes
// first.
func appendLZF(dst, s []byte, lzf *checksum.LZF) ([]byte, bool) {
	var gap [lzfHeadMax]byte
	body := len(dst) + lzfHeadMax
	out, ok := lzf.Compress(append(dst, gap[:]...), s)
	if !ok {
		return dst, false
	}
	packedLen := len(out) - body
	head := append(out[:len(dst)], encoded|encLZF)
	head = AppendLen(head, uint64(packedLen))
	head = AppendLen(head, uint64(len(s)))
	return out[:len(head)+copy(out[len(head):], out[body:])], true
}

// AppendListForm opens a node of TypeListListpacks; the bytes of the listpack, or the element, follow as a string.
func AppendListForm(dst []byte, plain bool) []byte {
	form := uint64(nodePacked)
	if plain {
		form = nodePlain
	}
	return AppendLen(dst, form)
}

// AppendInt writes a string that is the text of a number.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v == int64(int8(v)):
		return append(dst, encoded|encInt8, byte(v))
	case v == int64(int16(v)):
		return append(dst, encoded|encInt16, byte(v), byte(v>>8))
	case v == int64(int32(v)):
		return binary.LittleEndian.AppendUint32(append(dst, encoded|encInt32), uint32(v))
	}
	var text [20]byte
	s := num.AppendInt(text[:0], v)
	return append(AppendLen(dst, uint64(len(s))), s...)
}

// AppendDouble writes a score of TypeZSet.
func AppendDouble(dst []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// AppendMillis writes a time, as consumers and pending entries of a stream have.
func AppendMillis(dst []byte, ms int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(ms))
}

// AppendType opens a value; in a file the key follows, in a DUMP payload the value.
func AppendType(dst []byte, t Type) []byte { return append(dst, byte(t)) }

// AppendExpireMs gives the next key an expiry, in Unix milliseconds.
func AppendExpireMs(dst []byte, at int64) []byte { return AppendMillis(append(dst, opExpireMs), at) }

// AppendIdle gives the next key the seconds since its last use.
func AppendIdle(dst []byte, seconds uint64) []byte { return AppendLen(append(dst, opIdle), seconds) }

// AppendFreq gives the next key its counter of uses.
func AppendFreq(dst []byte, freq uint8) []byte { return append(dst, opFreq, freq) }

// AppendSelectDB tells which database the next keys belong to.
func AppendSelectDB(dst []byte, db int) []byte { return AppendLen(append(dst, opSelectDB), uint64(db)) }

// AppendResizeDB tells how many keys the database has, and how many of them expire.
func AppendResizeDB(dst []byte, keys, expires uint64) []byte {
	return AppendLen(AppendLen(append(dst, opResizeDB), keys), expires)
}

// AppendFunction writes the source of a function library.
func AppendFunction(dst, code []byte, lzf *checksum.LZF) []byte {
	return AppendString(append(dst, opFunction), code, lzf)
}

// AppendAux writes a field about the file.
func AppendAux(dst []byte, name string, value []byte) []byte {
	dst = append(AppendLen(append(dst, opAux), uint64(len(name))), name...)
	return AppendString(dst, value, nil)
}

// AppendEOF closes a file. crc is the checksum of all bytes before it.
func AppendEOF(dst []byte, crc uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, opEOF), checksum.CRC64(crc, []byte{opEOF}))
}

// AppendEOFUnsummed closes a file that has no checksum (rdbchecksum no).
func AppendEOFUnsummed(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, opEOF), 0)
}
