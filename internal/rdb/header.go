package rdb

import "github.com/covey-db/covey/internal/num"

// Header is what a file tells about itself.
type Header struct {
	CreatedAt int64        // Unix seconds
	UsedMem   int64        // bytes of memory in use
	Stream    *ReplayPoint // the point in the replication stream that the file shows; nil if there is none
	AOFBase   bool         // the file is the base of an append-only file
}

// ReplayPoint is a place in a replication stream.
type ReplayPoint struct {
	DB     int    // the database that was selected last in the stream
	ID     string // the replication ID, 40 characters
	Offset int64  // bytes of the stream that the file contains
}

// ServerVersion is the version of Redis that Covey behaves like and names in its files.
const ServerVersion = "7.2.4"

// AppendHeader opens a file.
func AppendHeader(dst []byte, h Header) []byte {
	dst = append(dst, magic...)
	dst = append(dst, '0', '0', '0'+WriteVersion/10, '0'+WriteVersion%10)
	dst = AppendAux(dst, "redis-ver", []byte(ServerVersion))
	dst = appendAuxInt(dst, "redis-bits", 64)
	dst = appendAuxInt(dst, "ctime", h.CreatedAt)
	dst = appendAuxInt(dst, "used-mem", h.UsedMem)
	if h.Stream != nil {
		dst = appendAuxInt(dst, "repl-stream-db", int64(h.Stream.DB))
		dst = AppendAux(dst, "repl-id", []byte(h.Stream.ID))
		dst = appendAuxInt(dst, "repl-offset", h.Stream.Offset)
	}
	base := int64(0)
	if h.AOFBase {
		base = 1
	}
	return appendAuxInt(dst, "aof-base", base)
}

func appendAuxInt(dst []byte, name string, v int64) []byte {
	var text [20]byte
	return AppendAux(dst, name, num.AppendInt(text[:0], v))
}
