package command

import (
	"crypto/subtle"
	"encoding/binary"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds BITOP. The result is computed where it will stay, in the value of the target, one source after the other:
// nothing as long as the strings is allocated beside it. A source that is the target itself is already there.

// bitOperation folds the bytes of a source into those of the target; the source has no more of them.
type bitOperation struct {
	fold func(dst, src []byte)
	// zeroBehind says that the bytes behind a short source become zero.
	zeroBehind bool
	// twice says that a source that comes again changes nothing.
	twice bool
}

func bitOperationOf(c *engine.Ctx) (op bitOperation, not, ok bool) {
	switch {
	case c.ArgIs(1, "AND"):
		return bitOperation{andBytes, true, true}, false, true
	case c.ArgIs(1, "OR"):
		return bitOperation{orBytes, false, true}, false, true
	case c.ArgIs(1, "XOR"):
		return bitOperation{xorBytes, false, false}, false, true
	case c.ArgIs(1, "NOT"):
		return bitOperation{twice: true}, true, true
	}
	return op, false, false
}

func cmdBitOp(c *engine.Ctx) {
	op, not, ok := bitOperationOf(c)
	switch {
	case !ok:
		c.Err(engine.ErrSyntax)
		return
	case not && len(c.Args) != 4:
		c.Err("ERR BITOP NOT must be called with a single source key.")
		return
	}
	longest, ok := longestSource(c)
	if !ok {
		return
	}
	switch {
	case longest == 0:
		if c.Delete(0) {
			c.Notify(config.EventGeneric, "del", 0)
		}
	default:
		c.Overwrites(0)
		own := timesTarget(c)
		target := bitOpTarget(c, longest, own, op)
		if not {
			invertBytes(target)
		} else {
			foldSources(c, target, op, own == 0)
		}
		c.Changed(0)
		c.Notify(config.EventString, "set", 0)
	}
	c.ReplyInt(int64(longest))
}

// longestSource is the length of the longest source; false when one is no string.
func longestSource(c *engine.Ctx) (longest int, ok bool) {
	for i := 1; i < c.NumKeys(); i++ {
		rec, exists, ok := c.ReadString(i)
		if !ok {
			return 0, false
		}
		if exists {
			longest = max(longest, len(c.StringBytes(rec)))
		}
	}
	return longest, true
}

// isTarget says whether the i-th key is the target again.
func isTarget(c *engine.Ctx, i int) bool { return string(c.Key(i).Bytes) == string(c.Key(0).Bytes) }

// timesTarget is how often the target is one of the sources.
func timesTarget(c *engine.Ctx) (n int) {
	for i := 1; i < c.NumKeys(); i++ {
		if isTarget(c, i) {
			n++
		}
	}
	return n
}

// bitOpTarget makes the target a string of n bytes without an expiry that holds one of the sources: itself if it is one,
// own times, else the first.
func bitOpTarget(c *engine.Ctx, n, own int, op bitOperation) []byte {
	part, key := c.Part(0), c.Key(0)
	if own == 0 {
		part.PutInline(c.DB(), key, keyspace.TypeString, keyspace.EncRaw, nil, 0)
		target := rawValue(c, n, false)
		copy(target, sourceBytes(c, 1))
		return target
	}
	if _, exists := c.Peek(0); exists {
		part.Persist(c.DB(), key)
	} else {
		part.PutInline(c.DB(), key, keyspace.TypeString, keyspace.EncRaw, nil, 0)
	}
	target := rawValue(c, n, false)
	if !op.twice && own%2 == 0 {
		clear(target)
	}
	return target
}

// sourceBytes is the string of the i-th key, empty if there is none.
func sourceBytes(c *engine.Ctx, i int) []byte {
	rec, exists := c.Peek(i)
	if !exists {
		return nil
	}
	return c.StringBytes(rec)
}

// foldSources folds every source into the target but the one that it holds already: the first, or itself.
func foldSources(c *engine.Ctx, target []byte, op bitOperation, holdsFirst bool) {
	for i := 1; i < c.NumKeys(); i++ {
		if isTarget(c, i) || holdsFirst && i == 1 {
			continue
		}
		src := sourceBytes(c, i)
		op.fold(target[:len(src)], src)
		if op.zeroBehind {
			clear(target[len(src):])
		}
	}
}

func andBytes(dst, src []byte) {
	for len(src) >= 8 {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)&binary.LittleEndian.Uint64(src))
		dst, src = dst[8:], src[8:]
	}
	for i, x := range src {
		dst[i] &= x
	}
}

func orBytes(dst, src []byte) {
	for len(src) >= 8 {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)|binary.LittleEndian.Uint64(src))
		dst, src = dst[8:], src[8:]
	}
	for i, x := range src {
		dst[i] |= x
	}
}

func xorBytes(dst, src []byte) { subtle.XORBytes(dst, dst, src) }

func invertBytes(b []byte) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, ^binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	for i := range b {
		b[i] = ^b[i]
	}
}
