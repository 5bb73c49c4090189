// Package packed reads the compact encodings that RDB files carry inside a string: listpack, ziplist, zipmap and intset.
// The bytes come from a disk or from another node and are not trusted: every reader checks what it reads, stops with an
// error at the first byte that is wrong, and reads each byte at most a few times. Old forms can be turned into a listpack,
// the only one (with the intset) that is still written.
package packed

import "github.com/covey-db/covey/internal/num"

// Damage says what is wrong with a compact value.
type Damage string

func (d Damage) Error() string { return string(d) }

const endByte = 0xff // closes a listpack, a ziplist and a zipmap

// Elem is one element: a number, or bytes that point into the value they were read from.
type Elem struct {
	Str   []byte // the bytes; nil for a number
	Int   int64  // the number
	IsInt bool   // the element is stored as a number
}

// Text gives the element as bytes. A number is written to the scratch space, which may be nil; the result lives until the
// space is used again.
func (e Elem) Text(scratch []byte) []byte {
	if !e.IsInt {
		return e.Str
	}
	return num.AppendInt(scratch[:0], e.Int)
}
