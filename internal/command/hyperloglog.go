package command

import (
	"fmt"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/enc/hll"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds the commands of HyperLogLogs, which are strings (package hll).

func hyperLogLogHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"pfadd":      {Run: cmdPFAdd},
		"pfcount":    {Run: cmdPFCount},
		"pfmerge":    {Run: cmdPFMerge},
		"pfdebug":    {Run: cmdPFDebug},
		"pfselftest": {Run: cmdPFSelfTest},
	}
}

const (
	errNoSketch      = "WRONGTYPE Key is not a valid HyperLogLog string value."
	errCorruptSketch = "INVALIDOBJ Corrupted HLL object detected"
)

// isSketch says whether a record is a sketch; otherwise the error has been replied.
func isSketch(c *engine.Ctx, rec keyspace.Rec) bool {
	switch {
	case rec.Type() != keyspace.TypeString:
		c.Err(engine.ErrWrongType)
	case rec.Encoding() == keyspace.EncInt || !hll.Valid(rec.Value()):
		c.Err(errNoSketch)
	default:
		return true
	}
	return false
}

// sketch is the sketch of the first key while a command changes it. A dense one is changed where it is, a sparse one in
// scratch memory.
type sketch struct {
	c        *engine.Ctx
	bytes    []byte
	inPlace  bool
	writable bool // bytes may be changed
	expireAt int64
}

// openSketch finds the sketch of the first key, or begins a new one. ok is false when the error has been replied.
func openSketch(c *engine.Ctx) (s sketch, fresh, ok bool) {
	rec, exists := c.FindWrite(0)
	if !exists {
		return sketch{c: c, bytes: hll.AppendEmpty(c.W.Scratch()), writable: true}, true, true
	}
	if !isSketch(c, rec) {
		return sketch{}, false, false
	}
	return sketch{c: c, bytes: rec.Value(), inPlace: hll.IsDense(rec.Value()), expireAt: rec.ExpireAt()}, false, true
}

// toWrite makes the bytes fit to be changed.
func (s *sketch) toWrite() {
	switch {
	case s.writable:
	case s.inPlace:
		s.bytes = rawBytes(s.c)
	default:
		s.bytes = append(s.c.W.Scratch(), s.bytes...)
	}
	s.writable = true
}

// raise gives a register a rank.
func (s *sketch) raise(index int, rank uint8) (raised bool, err error) {
	if !s.writable {
		if raised, err = hll.Raises(s.bytes, index, rank); err != nil || !raised {
			return false, err
		}
		s.toWrite()
	}
	s.bytes, raised, err = hll.Raise(s.bytes, index, rank, s.c.Engine().Settings.Encoding.HLLSparse.Load())
	return raised, err
}

// keep stores what was changed.
func (s *sketch) keep() {
	if !s.inPlace {
		c := s.c
		c.Part(0).PutInline(c.DB(), c.Key(0), keyspace.TypeString, keyspace.EncRaw, s.bytes, s.expireAt)
		c.W.SetScratch(s.bytes)
	}
}

// rawBytes is the value of the first key, a string that is no integer, as EncRaw, to be changed in place.
func rawBytes(c *engine.Ctx) []byte {
	rec, _ := c.Part(0).FindForWrite(c.DB(), c.Key(0))
	if rec.Encoding() == keyspace.EncRaw {
		return rec.Value()
	}
	return c.Part(0).Writable(c.DB(), c.Key(0), len(rec.Value()), false)
}

func cmdPFAdd(c *engine.Ctx) {
	s, fresh, ok := openSketch(c)
	if !ok {
		return
	}
	changes := 0
	if fresh {
		changes = 1
	}
	for _, element := range c.Args[2:] {
		raised, err := s.raise(hll.Place(element))
		if err != nil {
			c.Err(errCorruptSketch)
			return
		}
		if raised {
			changes++
		}
	}
	if changes == 0 {
		rawBytes(c) // the encoding is what it would be after a change
		c.ReplyInt(0)
		return
	}
	hll.Forget(s.bytes)
	s.keep()
	c.Changed(0)
	c.CountChanges(changes - 1)
	c.Notify(config.EventString, "pfadd", 0)
	c.ReplyInt(1)
}

func cmdPFCount(c *engine.Ctx) {
	if len(c.Args) > 2 {
		var ranks hll.Ranks
		if ok, _ := mergeKeys(c, &ranks); ok {
			c.ReplyInt(int64(ranks.Count()))
		}
		return
	}
	rec, exists := c.Find(0)
	if !exists {
		c.ReplyInt(0)
		return
	}
	if !isSketch(c, rec) {
		return
	}
	value := rec.Value()
	if rec.Encoding() != keyspace.EncRaw {
		value = rawBytes(c)
	}
	if n, known := hll.Estimate(value); known {
		c.ReplyInt(int64(n))
		return
	}
	n, err := hll.Count(value)
	if err != nil {
		c.Err(errCorruptSketch)
		return
	}
	keepEstimate(c, n)
	c.ReplyInt(int64(n))
}

// keepEstimate stores the estimate of the first key: a change, which replicas repeat, though the command only reads. What a
// replica stores by itself is the same that its primary would, and no write of its own.
func keepEstimate(c *engine.Ctx, n uint64) {
	hll.SetEstimate(rawBytes(c), n)
	if c.Engine().Role.IsReplica() && !c.FromPrimary() {
		c.Modified(0)
		return
	}
	c.Changed(0)
}

// mergeKeys raises the ranks to those of all keys; dense says that one of them is. ok is false when the error has been
// replied.
func mergeKeys(c *engine.Ctx, ranks *hll.Ranks) (ok, dense bool) {
	for i := range c.NumKeys() {
		rec, exists := c.Find(i)
		if !exists {
			continue
		}
		if !isSketch(c, rec) {
			return false, false
		}
		dense = dense || hll.IsDense(rec.Value())
		if err := ranks.Merge(rec.Value()); err != nil {
			c.Err(errCorruptSketch)
			return false, false
		}
	}
	return true, dense
}

func cmdPFMerge(c *engine.Ctx) {
	var ranks hll.Ranks
	ok, dense := mergeKeys(c, &ranks)
	if !ok {
		return
	}
	s, _, ok := openSketch(c)
	if !ok {
		return
	}
	if dense && !s.makeDense() {
		return
	}
	s.toWrite()
	for index, rank := range &ranks {
		if rank == 0 {
			continue
		}
		if _, err := s.raise(index, rank); err != nil {
			break // the sketch was read to the end above, so that this does not happen
		}
	}
	hll.Forget(s.bytes)
	s.keep()
	c.Changed(0)
	c.Notify(config.EventString, "pfadd", 0)
	c.OK()
}

// makeDense makes the sketch dense; otherwise the error has been replied.
func (s *sketch) makeDense() bool {
	if hll.IsDense(s.bytes) {
		return true
	}
	dense, err := hll.AppendDense(make([]byte, 0, hll.DenseBytes), s.bytes)
	if err != nil {
		s.c.Err(errCorruptSketch)
		return false
	}
	s.bytes, s.inPlace, s.writable = dense, false, true
	return true
}

func cmdPFDebug(c *engine.Ctx) {
	rec, exists := c.FindWrite(0)
	if !exists {
		c.Err("ERR The specified key does not exist")
		return
	}
	if !isSketch(c, rec) {
		return
	}
	rawBytes(c)
	switch s, _, _ := openSketch(c); {
	case c.ArgIs(1, "GETREG"):
		if _, ok := s.convert(); ok {
			s.replyRegisters()
		}
	case c.ArgIs(1, "DECODE"):
		if hll.IsDense(s.bytes) {
			c.Err("ERR HLL encoding is not sparse")
			return
		}
		c.Bulk(hll.AppendRuns(nil, s.bytes))
	case c.ArgIs(1, "ENCODING"):
		if hll.IsDense(s.bytes) {
			c.Simple("dense")
		} else {
			c.Simple("sparse")
		}
	case c.ArgIs(1, "TODENSE"):
		if changed, ok := s.convert(); ok {
			c.Bool01(changed)
		}
	default:
		c.Err(fmt.Sprintf("ERR Unknown PFDEBUG subcommand '%s'", cutAtZero(c.Args[1])))
	}
}

// convert stores the sketch as a dense one. ok is false when the error has been replied.
func (s *sketch) convert() (changed, ok bool) {
	if hll.IsDense(s.bytes) {
		return false, true
	}
	if !s.makeDense() {
		return false, false
	}
	s.keep()
	s.c.Changed(0)
	return true, true
}

func (s *sketch) replyRegisters() {
	s.c.Array(hll.Registers)
	for i := range hll.Registers {
		s.c.ReplyInt(int64(hll.Register(s.bytes, i)))
	}
}

func cmdPFSelfTest(c *engine.Ctx) {
	if err := hll.SelfTest(uint64(c.Now), c.Engine().Settings.Encoding.HLLSparse.Load()); err != nil {
		c.Err("ERR TESTFAILED " + err.Error())
		return
	}
	c.OK()
}
