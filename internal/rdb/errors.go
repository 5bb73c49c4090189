package rdb

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/rdb/packed"
)

// Damage says what is wrong with a file or a payload.
type Damage = packed.Damage

// What can be wrong, apart from the compact values (package packed) and compressed strings (checksum.ErrLZF).
const (
	ErrMagic         Damage = "not an RDB file"
	ErrVersion       Damage = "unknown RDB version"
	ErrChecksum      Damage = "checksum is wrong (CRC error)"
	ErrLength        Damage = "unknown form of a length"
	ErrStringForm    Damage = "unknown form of a string"
	ErrStringLong    Damage = "string is longer than allowed"
	ErrType          Damage = "unknown type of value"
	ErrNotFunction   Damage = "given type is not a function"
	ErrPreGA         Damage = "format of a release candidate is not supported"
	ErrEmpty         Damage = "value without elements"
	ErrScore         Damage = "score is not a number"
	ErrDuplicate     Damage = "element is there twice"
	ErrOddPairs      Damage = "last field has no value"
	ErrNode          Damage = "unknown form of a list node"
	ErrFieldExpiry   Damage = "expiry of a hash field is wrong"
	ErrStreamID      Damage = "stream node has no ID"
	ErrStreamOrder   Damage = "stream entries are not in ascending order"
	ErrStreamNode    Damage = "stream node is wrong"
	ErrStreamLength  Damage = "stream has a length but no entries"
	ErrStreamLastID  Damage = "last ID of the stream is before its last entry"
	ErrModulePart    Damage = "unknown part of a module's value"
	ErrModuleRefused Damage = "value of a module that is not loaded"
	ErrTrailing      Damage = "bytes left over after the value"
)

// ReplyError is a text that goes to the client as it is.
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// The replies of RESTORE to a payload that is wrong.
const (
	ErrDumpFooter ReplyError = "ERR DUMP payload version or checksum are wrong"
	ErrDumpData   ReplyError = "ERR Bad data format"
)

// Error tells where decoding stopped.
type Error struct {
	Offset int64  // bytes that had been read
	Key    []byte // the key that was being read, if any
	Type   Type   // how its value is written
	DB     int    // its database
	Err    error  // Damage, io.ErrUnexpectedEOF if the input ended, or what the reader or the Builder said
}

func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "at offset %d", e.Offset)
	if e.Key != nil {
		kind, _ := kindOf(e.Type)
		fmt.Fprintf(&text, ", key %q (%s of type %d, database %d)", shorten(e.Key), kind, e.Type, e.DB)
	}
	fmt.Fprintf(&text, ": %v", e.Err)
	return text.String()
}

func (e *Error) Unwrap() error { return e.Err }

const keyTextMax = 100 // bytes of a key in a message

func shorten(key []byte) string {
	if len(key) <= keyTextMax {
		return string(key)
	}
	return string(key[:keyTextMax]) + "..."
}

// IsDamage tells whether err came from the bytes (wrong or too few of them), not from the reader or the Builder.
func IsDamage(err error) bool {
	var d Damage
	return errors.As(err, &d) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, checksum.ErrLZF)
}

// Complaint names what did not stand the check, and why: for the log.
func Complaint(err error) string {
	what := "Value"
	var at *Error
	if errors.As(err, &at) {
		switch at.Type {
		case TypeHashZipmap:
			what = "Zipmap"
		case TypeStream1, TypeStream2, TypeStream3:
			what = "Stream listpack"
		case TypeZSetZiplist:
			what = "Zset ziplist"
		case TypeHashZiplist:
			what = "Hash ziplist"
		case TypeListZiplist, TypeListZiplists:
			what = "List ziplist"
		case TypeZSetListpack:
			what = "Zset listpack"
		case TypeHashListpack:
			what = "Hash listpack"
		case TypeListListpacks:
			what = "List listpack"
		case TypeSetListpack:
			what = "Set listpack"
		case TypeSetIntset:
			what = "Intset"
		}
	}
	if errors.Is(err, ErrDuplicate) {
		switch what {
		case "Stream listpack":
			return "Duplicate stream consumer detected: " + err.Error()
		case "Hash listpack":
			what += " with dup elements:"
		}
	}
	return what + " integrity check failed: " + err.Error()
}
