package command

import (
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds OBJECT.

func objectHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"object|encoding": {Run: cmdObjectEncoding},
		"object|freq":     {Run: cmdObjectFreq},
		"object|idletime": {Run: cmdObjectIdleTime},
		"object|refcount": {Run: cmdObjectRefCount},
		"object|help":     {Run: cmdObjectHelp},
	}
}

const (
	errIdleUnderLFU = "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching " +
		"between policies at runtime LRU and LFU data will take some time to adjust."
	errFreqUnderLRU = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when " +
		"switching between policies at runtime LRU and LFU data will take some time to adjust."
)

// encodingName is what OBJECT ENCODING calls an encoding.
func encodingName(e keyspace.Encoding) string {
	return [...]string{"raw", "embstr", "int", "listpack", "intset", "hashtable", "skiplist", "quicklist", "stream", "listpackex"}[e]
}

// inspected finds key 0 without touching it; a missing one has been replied as null.
func inspected(c *engine.Ctx) (keyspace.Rec, bool) {
	rec, ok := c.FindSilent(0)
	if !ok {
		c.Null()
	}
	return rec, ok
}

func cmdObjectEncoding(c *engine.Ctx) {
	if rec, ok := inspected(c); ok {
		c.BulkString(encodingName(rec.Encoding()))
	}
}

func cmdObjectFreq(c *engine.Ctx) {
	rec, ok := inspected(c)
	if !ok {
		return
	}
	if !c.Engine().Evictor.UsesLFU() {
		c.Err(errFreqUnderLRU)
		return
	}
	c.ReplyInt(c.Engine().Evictor.Freq(rec, c.Now))
}

func cmdObjectIdleTime(c *engine.Ctx) {
	rec, ok := inspected(c)
	if !ok {
		return
	}
	if c.Engine().Evictor.UsesLFU() {
		c.Err(errIdleUnderLFU)
		return
	}
	c.ReplyInt(c.Engine().IdleSeconds(rec))
}

const (
	sharedIntegers = 10000     // numbers below this are one shared object in Redis
	sharedCount    = 1<<31 - 1 // the number of references that such an object shows
)

// cmdObjectRefCount replies what Redis would: nothing is shared here, but clients may look at it.
func cmdObjectRefCount(c *engine.Ctx) {
	rec, ok := inspected(c)
	if !ok {
		return
	}
	if rec.Encoding() == keyspace.EncInt && rec.Int() >= 0 && rec.Int() < sharedIntegers && sharesIntegers(c.Engine()) {
		c.ReplyInt(sharedCount)
		return
	}
	c.ReplyInt(1)
}

// sharesIntegers says whether Redis would share small numbers: not when each key needs an access clock of its own.
func sharesIntegers(e *engine.Engine) bool {
	if e.Settings.MaxMemory().Load() == 0 {
		return true
	}
	switch e.Evictor.Policy() {
	case engine.AllKeysLRU, engine.VolatileLRU, engine.AllKeysLFU, engine.VolatileLFU:
		return false
	}
	return true
}

func cmdObjectHelp(c *engine.Ctx) {
	c.Help(
		"ENCODING <key>",
		"    Tell how the value of <key> is held in memory.",
		"FREQ <key>",
		"    Tell how often <key> is used, on a logarithmic scale. Needs an LFU policy.",
		"IDLETIME <key>",
		"    Tell for how many seconds <key> has not been used. Needs a policy other than LFU.",
		"REFCOUNT <key>",
		"    Tell how many references the value of <key> has.",
	)
}
