package snapshot

import (
	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/rdb"
)

// AppendRecord appends a record as an RDB file holds it: expiry, access clock under an LRU or LFU policy, type, key, value.
// The record's shard is locked.
func AppendRecord(dst []byte, e *engine.Engine, r keyspace.Rec, lzf *checksum.LZF) []byte {
	return object.AppendValue(appendHead(dst, e, r, lzf), r, lzf)
}

// appendHead appends what stands before the value.
func appendHead(dst []byte, e *engine.Engine, r keyspace.Rec, lzf *checksum.LZF) []byte {
	if at := r.ExpireAt(); at != 0 {
		dst = rdb.AppendExpireMs(dst, at)
	}
	switch e.Evictor.Policy() {
	case engine.AllKeysLRU, engine.VolatileLRU:
		dst = rdb.AppendIdle(dst, uint64(e.IdleSeconds(r)))
	case engine.AllKeysLFU, engine.VolatileLFU:
		dst = rdb.AppendFreq(dst, uint8(r.Clock()))
	}
	dst = rdb.AppendType(dst, object.SaveType(r))
	return rdb.AppendString(dst, r.Key(), lzf)
}
