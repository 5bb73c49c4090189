package command

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds how IDs and entries are replied.

// idReplyMax is the longest text of an ID.
const idReplyMax = 41

func appendID(dst []byte, id stream.ID) []byte {
	var text [idReplyMax]byte
	return resp.AppendBulk(dst, id.AppendText(text[:0]))
}

// appendElem appends an element of a listpack as a bulk string.
func appendElem(dst []byte, e listpack.Elem) []byte {
	if !e.IsInt() {
		return resp.AppendBulk(dst, e.Str)
	}
	var text [20]byte
	return resp.AppendBulk(dst, num.AppendInt(text[:0], e.Int))
}

// appendEntry appends the entry at which the walk is: its ID, and its fields and values.
func appendEntry(dst []byte, it *stream.Iter) []byte {
	dst = resp.AppendArray(dst, 2)
	dst = appendID(dst, it.ID)
	dst = resp.AppendArray(dst, 2*it.Fields)
	for range it.Fields {
		field, value := it.Pair()
		dst = appendElem(appendElem(dst, field), value)
	}
	return dst
}

// appendOne appends the entry with the given ID; false when there is none.
func appendOne(dst []byte, s stream.Stream, id stream.ID) ([]byte, bool) {
	it := s.Range(id, id)
	if !it.Next() {
		return dst, false
	}
	return appendEntry(dst, &it), true
}

// appendEntries appends an array of the entries of a walk, of no more than count, if that is not 0. likely is how many
// there may be; a wrong guess costs a move of the reply.
func appendEntries(dst []byte, it *stream.Iter, count, likely int64) []byte {
	if count > 0 {
		likely = min(likely, count)
	}
	start := len(dst)
	dst = resp.AppendArray(dst, int(likely))
	body := len(dst)
	n := int64(0)
	for (count == 0 || n < count) && it.Next() {
		dst = appendEntry(dst, it)
		n++
	}
	return setCount(dst, start, body, int(n))
}

// setCount makes the head of the array that begins at start, with its elements at body, tell that there are n.
func setCount(dst []byte, start, body, n int) []byte {
	var text [24]byte
	return replaceHead(dst, start, body, resp.AppendArray(text[:0], n))
}

// replaceHead puts head in the place of what is between start and body.
func replaceHead(dst []byte, start, body int, head []byte) []byte {
	if more := len(head) - (body - start); more != 0 {
		end := len(dst)
		if more > 0 {
			dst = append(dst, head[:more]...)
		}
		copy(dst[body+more:], dst[body:end])
		dst = dst[:end+more]
	}
	copy(dst[start:], head)
	return dst
}

// replyInterval is XRANGE and XREVRANGE.
func replyInterval(c *engine.Ctx, backwards bool) {
	first, last := 2, 3
	if backwards {
		first, last = 3, 2
	}
	from, ok := startArg(c, first)
	if !ok {
		return
	}
	to, ok := endArg(c, last)
	if !ok {
		return
	}
	count := int64(-1)
	for i := 4; i < len(c.Args); i += 2 {
		if !c.ArgIs(i, "COUNT") || i+1 == len(c.Args) {
			c.Err(engine.ErrSyntax)
			return
		}
		if count, ok = c.Int(i + 1); !ok {
			return
		}
		count = max(count, 0)
	}
	s, exists, ok := readStream(c)
	switch {
	case !ok:
	case !exists:
		c.Array(0)
	case count == 0:
		c.NullArray()
	case backwards:
		it := s.RangeBack(from, to)
		c.Append(func(dst []byte, _ resp.Version) []byte { return appendEntries(dst, &it, max(count, 0), s.Len()) })
	default:
		it := s.Range(from, to)
		c.Append(func(dst []byte, _ resp.Version) []byte { return appendEntries(dst, &it, max(count, 0), s.Len()) })
	}
}
