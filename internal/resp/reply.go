// The replies that a client reads.

package resp

import (
	"bytes"
	"math"

	"github.com/covey-db/covey/internal/num"
)

// Kind is the type of a reply: the byte that announces it on the wire.
type Kind byte

// The kinds of a reply. There are four ways to write nothing on the wire, and two kinds for them.
const (
	Simple    Kind = '+'
	Error     Kind = '-'
	Integer   Kind = ':'
	Bulk      Kind = '$'
	Array     Kind = '*'
	Null      Kind = '_' // the null of RESP3 and the null string of RESP2
	NullArray Kind = 'N' // the null array of RESP2; the letter is not one of the wire
	Bool      Kind = '#'
	Double    Kind = ','
	BigNumber Kind = '('
	BulkError Kind = '!'
	Verbatim  Kind = '='
	Map       Kind = '%'
	Set       Kind = '~'
	Push      Kind = '>'

	attribute Kind = '|' // stands in front of a reply; skipped
)

// Value is a reply.
type Value struct {
	Kind   Kind
	Str    []byte  // the text of all scalars but Null, without the format of Verbatim; it points into the parsed buffer
	Int    int64   // the value of Integer; 1 or 0 for Bool
	Double float64 // the value of Double
	Elems  []Value // of Array, Set and Push; the keys and values of a Map in turn
}

// IsError tells whether v is an error, whose text is in Str.
func (v *Value) IsError() bool { return v.Kind == Error || v.Kind == BulkError }

// What a peer may announce. Nothing is allocated before the bytes are there; the bounds keep a client from waiting for
// what no server sends.
const (
	replyDepthMax = 128     // arrays in arrays; scripts of users reach a few dozen
	replyLineMax  = 1 << 16 // bytes of a line: statuses, errors and headers
	replyBulkMax  = 1 << 32 // bytes of one string
	replyCountMax = math.MaxInt32
)

// The errors of ParseReply. Never written after start.
var (
	errReplyKind   = &ProtocolError{"reply of unknown type"}
	errReplyLine   = &ProtocolError{"reply line too long or without line end"}
	errReplyLength = &ProtocolError{"reply with invalid length"}
	errReplyEnd    = &ProtocolError{"reply string without line end"}
	errReplyScalar = &ProtocolError{"reply with malformed value"}
	errReplyDepth  = &ProtocolError{"reply nested too deeply"}
)

// ParseReply takes one reply of either protocol version from the start of buf. n is the number of bytes used; n == 0
// without an error means that more is needed. Attributes in front of replies are dropped. It starts anew with every call,
// so whoever expects long replies should read on until there are clearly more bytes before calling it again. An error is a
// *ProtocolError and final.
func ParseReply(buf []byte) (v Value, n int, err error) {
	n, err = measure(buf)
	if n == 0 {
		return Value{}, 0, err
	}
	v, _ = build(buf, 0)
	return v, n, nil
}

// measure checks the first reply of buf and gives its length, 0 when it is not there as a whole.
func measure(buf []byte) (n int, err error) {
	var open [replyDepthMax]int64 // how many replies each aggregate around pos still misses
	depth := 0
	open[0] = 1
	for pos := 0; ; {
		it, err := parseItem(buf, pos)
		if err != nil || it.next == 0 {
			return 0, err
		}
		pos = it.next
		if it.value.Kind != attribute {
			open[depth]--
		}
		if it.children > 0 {
			if depth++; depth == replyDepthMax {
				return 0, errReplyDepth
			}
			open[depth] = it.children
		}
		for open[depth] == 0 {
			if depth == 0 {
				return pos, nil
			}
			depth--
		}
	}
}

// build makes the tree of the reply at pos, which measure has checked, and gives the position behind it.
func build(buf []byte, pos int) (Value, int) {
	it, _ := parseItem(buf, pos)
	for it.value.Kind == attribute {
		pos = it.next
		for range it.children {
			_, pos = build(buf, pos)
		}
		it, _ = parseItem(buf, pos)
	}
	pos = it.next
	if it.children > 0 {
		it.value.Elems = make([]Value, it.children)
		for i := range it.value.Elems {
			it.value.Elems[i], pos = build(buf, pos)
		}
	}
	return it.value, pos
}

// item is a reply without what is in it.
type item struct {
	value    Value
	children int64 // replies that belong into it
	next     int   // position behind it; 0 when it is not there as a whole
}

// parseItem reads the item at pos.
func parseItem(buf []byte, pos int) (it item, err error) {
	line, next, err := replyLine(buf, pos)
	if err != nil || next == 0 {
		return it, err
	}
	it.value.Kind = Kind(buf[pos])
	it.next = next
	switch it.value.Kind {
	case Bulk, BulkError, Verbatim:
		return it, it.bulk(buf, line)
	case Array, Set, Push, Map, attribute:
		return it, it.aggregate(line)
	}
	return it, it.scalar(line)
}

// replyLine is the line at pos without its first byte; next is the position behind it, 0 when it is not there as a whole.
func replyLine(buf []byte, pos int) (line []byte, next int, err error) {
	if pos == len(buf) {
		return nil, 0, nil
	}
	rest := buf[pos:min(len(buf), pos+replyLineMax)]
	end := bytes.IndexByte(rest, '\r')
	switch {
	case end < 0 && len(rest) == replyLineMax:
		return nil, 0, errReplyLine
	case end < 0 || pos+end+1 == len(buf):
		return nil, 0, nil
	case end == 0:
		return nil, 0, errReplyKind
	case buf[pos+end+1] != '\n' || bytes.IndexByte(rest[:end], '\n') >= 0:
		return nil, 0, errReplyLine
	}
	return rest[1:end], pos + end + 2, nil
}

// bulk reads the bytes behind the header line of a string.
func (it *item) bulk(buf, line []byte) error {
	length, ok := num.ParseInt(line)
	switch {
	case ok && length == -1 && it.value.Kind == Bulk:
		it.value.Kind = Null
		return nil
	case !ok || length < 0 || length > replyBulkMax:
		return errReplyLength
	case int64(len(buf)-it.next)-2 < length:
		it.next = 0
		return nil
	}
	end := it.next + int(length)
	it.value.Str = buf[it.next:end:end]
	if buf[end] != '\r' || buf[end+1] != '\n' {
		return errReplyEnd
	}
	it.next = end + 2
	if it.value.Kind == Verbatim {
		const prefix = len("txt:")
		if length < int64(prefix) || it.value.Str[prefix-1] != ':' {
			return errReplyScalar
		}
		it.value.Str = it.value.Str[prefix:]
	}
	return nil
}

// aggregate reads the number of elements.
func (it *item) aggregate(line []byte) error {
	count, ok := num.ParseInt(line)
	switch {
	case ok && count == -1 && it.value.Kind == Array:
		it.value.Kind = NullArray
		return nil
	case !ok || count < 0 || count > replyCountMax:
		return errReplyLength
	}
	it.children = count
	if it.value.Kind == Map || it.value.Kind == attribute {
		it.children = 2 * count
	}
	return nil
}

// scalar reads a reply that is one line.
func (it *item) scalar(line []byte) error {
	v, ok := &it.value, true
	v.Str = line[:len(line):len(line)]
	switch v.Kind {
	case Simple, Error:
	case Integer:
		v.Int, ok = num.ParseInt(line)
	case Bool:
		if string(line) == "t" {
			v.Int = 1
		} else {
			ok = string(line) == "f"
		}
	case Null:
		v.Str, ok = nil, len(line) == 0
	case BigNumber:
		ok = isInteger(line)
	case Double:
		if v.Double, ok = num.ParseFloat(line); string(line) == "nan" || string(line) == "-nan" {
			v.Double, ok = math.NaN(), true
		}
	default:
		return errReplyKind
	}
	if !ok {
		return errReplyScalar
	}
	return nil
}

// isInteger tells whether line is an optional minus and at least one digit.
func isInteger(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte{'-'})
	for _, c := range line {
		if c-'0' > 9 {
			return false
		}
	}
	return len(line) > 0
}
