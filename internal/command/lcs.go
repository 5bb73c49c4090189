package command

import (
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds LCS, the longest common subsequence of two strings.

// lcsTableBytesMax bounds the table of lengths, 4 bytes a cell: two strings of 11,000 bytes. Redis asks the allocator for
// whatever the product of the lengths is.
const lcsTableBytesMax = 512 << 20

type lcsOptions struct {
	length, index, withLen bool
	minMatch               int64
}

func cmdLCS(c *engine.Ctx) {
	var text [2][]byte
	wrong := false
	for i := range text { // both are looked for, so that both can be missed
		rec, exists := c.Find(i)
		switch {
		case !exists:
		case rec.Type() == keyspace.TypeString:
			text[i] = append([]byte(nil), c.StringBytes(rec)...)
		default:
			wrong = true
		}
	}
	if wrong {
		c.Err("ERR The specified keys must contain string values")
		return
	}
	o, ok := parseLCS(c) // the strings are looked at first, as in Redis
	if !ok {
		return
	}
	switch cells := (int64(len(text[0])) + 1) * (int64(len(text[1])) + 1); {
	case cells > c.Engine().Settings.MaxBulk.Load()/4:
		c.Err("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
		return
	case cells > lcsTableBytesMax/4:
		c.Err("ERR Insufficient memory, failed allocating transient memory for LCS")
		return
	}
	c.Release() // the rest is arithmetic, and may take long
	newLCS(text[0], text[1]).reply(c, o)
}

func parseLCS(c *engine.Ctx) (o lcsOptions, ok bool) {
	for i := 3; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "IDX"):
			o.index = true
		case c.ArgIs(i, "LEN"):
			o.length = true
		case c.ArgIs(i, "WITHMATCHLEN"):
			o.withLen = true
		case c.ArgIs(i, "MINMATCHLEN") && i+1 < len(c.Args):
			i++
			if o.minMatch, ok = c.Int(i); !ok {
				return o, false
			}
			o.minMatch = max(o.minMatch, 0)
		default:
			c.Err(engine.ErrSyntax)
			return o, false
		}
	}
	if o.index && o.length {
		c.Err("ERR If you want both the length and indexes, please just use IDX.")
		return o, false
	}
	return o, true
}

// lcs is the table of lengths: cell (i, j) is the length for the first i bytes of a and the first j bytes of b.
type lcs struct {
	a, b  []byte
	table []uint32
}

func newLCS(a, b []byte) *lcs {
	l := &lcs{a, b, make([]uint32, (len(a)+1)*(len(b)+1))}
	width := len(b) + 1
	for i := 1; i <= len(a); i++ {
		above, row := l.table[(i-1)*width:i*width], l.table[i*width:(i+1)*width]
		for j := 1; j <= len(b); j++ {
			if a[i-1] == b[j-1] {
				row[j] = above[j-1] + 1
			} else {
				row[j] = max(above[j], row[j-1])
			}
		}
	}
	return l
}

func (l *lcs) at(i, j int) uint32 { return l.table[i*(len(l.b)+1)+j] }

// match is a common stretch: inclusive positions in a and b.
type match struct{ aFrom, aTo, bFrom, bTo int }

func (m match) len() int64 { return int64(m.aTo - m.aFrom + 1) }

func (l *lcs) reply(c *engine.Ctx, o lcsOptions) {
	total := int64(l.at(len(l.a), len(l.b)))
	if o.length {
		c.ReplyInt(total)
		return
	}
	text, matches := l.walk()
	if !o.index {
		c.Bulk(text)
		return
	}
	kept := matches[:0]
	for _, m := range matches {
		if m.len() >= o.minMatch {
			kept = append(kept, m)
		}
	}
	c.Map(2)
	c.BulkString("matches")
	c.Array(len(kept))
	for _, m := range kept {
		replyMatch(c, m, o.withLen)
	}
	c.BulkString("len")
	c.ReplyInt(total)
}

func replyMatch(c *engine.Ctx, m match, withLen bool) {
	if withLen {
		c.Array(3)
	} else {
		c.Array(2)
	}
	c.Array(2)
	c.ReplyInt(int64(m.aFrom))
	c.ReplyInt(int64(m.aTo))
	c.Array(2)
	c.ReplyInt(int64(m.bFrom))
	c.ReplyInt(int64(m.bTo))
	if withLen {
		c.ReplyInt(m.len())
	}
}

// walk goes back through the table from the end and gives the subsequence and its stretches, the last stretch first.
func (l *lcs) walk() (text []byte, matches []match) {
	left := int(l.at(len(l.a), len(l.b)))
	text = make([]byte, left)
	open := false
	for i, j := len(l.a), len(l.b); i > 0 && j > 0; {
		if l.a[i-1] != l.b[j-1] {
			open = false
			if l.at(i-1, j) > l.at(i, j-1) {
				i--
			} else {
				j--
			}
			continue
		}
		left--
		text[left] = l.a[i-1]
		i, j = i-1, j-1
		if !open {
			matches = append(matches, match{i, i, j, j})
			open = true
			continue
		}
		m := &matches[len(matches)-1]
		m.aFrom, m.bFrom = i, j
	}
	return text, matches
}
