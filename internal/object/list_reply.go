package object

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds how elements of a list become replies, without an Elem being made of each.

// BulkMax is the length from which an element is not appended by AppendBulks: it would be copied twice.
const BulkMax = 16 << 10

// AppendBulks appends the next elements as bulk strings, count at most, and returns how many. It ends early when dst has so
// many bytes, before an element of BulkMax or more, and at the end.
func (i *ListIter) AppendBulks(dst []byte, count int64, bytes int) (_ []byte, n int64) {
	for n < count && len(dst) < bytes {
		if i.left == 0 && !i.nextNode() {
			return dst, n
		}
		if i.plain {
			if len(i.lp) >= BulkMax {
				return dst, n
			}
			i.left = 0
			dst = resp.AppendBulk(dst, i.lp)
			n++
			continue
		}
		before := i.left
		dst = i.appendNode(dst, int(min(count-n, int64(i.left))), bytes)
		if i.left == before {
			return dst, n
		}
		n += int64(before - i.left)
	}
	return dst, n
}

// appendNode is AppendBulks within a node that has some elements left.
func (i *ListIter) appendNode(dst []byte, some, bytes int) []byte {
	for ; some > 0 && len(dst) < bytes; some-- {
		b, size := i.lp[i.pos:], 0
		if head := b[0]; head >= 0x80 && head < 0xc0 { // a string of less than 64 bytes
			size = int(head&0x3f) + 2
			dst = appendShort(dst, b[1:size-1])
		} else {
			e := listpack.Get(i.lp, i.pos)
			switch {
			case e.IsInt():
				dst = resp.AppendBulkInt(dst, e.Int)
			case len(e.Str) >= BulkMax:
				return dst
			default:
				dst = resp.AppendBulk(dst, e.Str)
			}
		}
		if i.left--; i.left == 0 {
			return dst
		}
		switch {
		case i.back:
			i.pos = listpack.Prev(i.lp, i.pos)
		case size > 0:
			i.pos += size
		default:
			i.pos = listpack.Next(i.lp, i.pos)
		}
	}
	return dst
}

// appendShort appends a string of less than 100 bytes as a bulk string.
func appendShort(dst, b []byte) []byte {
	n := byte(len(b))
	if n < 10 {
		dst = append(dst, '$', '0'+n, '\r', '\n')
	} else {
		dst = append(dst, '$', '0'+n/10, '0'+n%10, '\r', '\n')
	}
	dst = append(dst, b...)
	return append(dst, '\r', '\n')
}
