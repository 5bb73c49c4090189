package tests

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/checksum"
)

// The value types and opcodes of RDB files that the tests write.
const (
	rdbString    = "\x00"
	rdbList      = "\x01"
	rdbSet       = "\x02"
	rdbZSet      = "\x03" // scores as text
	rdbHash      = "\x04"
	rdbZSet2     = "\x05" // scores as binary doubles
	rdbIntSet    = "\x0b"
	rdbQuickList = "\x0e" // list of ziplists
	rdbSelect0   = "\xfe\x00"
)

// rdbText is a short string with its length in front.
func rdbText(text string) string { return string(rune(len(text))) + text }

// rdbFile closes a file of the given version with its checksum.
func rdbFile(version int, body ...string) string {
	file := fmt.Sprintf("REDIS%04d", version) + strings.Join(body, "") + "\xff"
	return file + string(binary.LittleEndian.AppendUint64(nil, checksum.CRC64(0, []byte(file))))
}

// zipList is an old packed list of short strings.
func zipList(items ...string) string {
	body, previous, tail := "", 0, 10
	for i, item := range items {
		entry := string(rune(previous)) + rdbText(item)
		if i < len(items)-1 {
			tail += len(entry)
		}
		previous, body = len(entry), body+entry
	}
	le := binary.LittleEndian
	head := le.AppendUint32(nil, uint32(10+len(body)+1))
	head = le.AppendUint32(head, uint32(tail))
	head = le.AppendUint16(head, uint16(len(items)))
	return string(head) + body + "\xff"
}

// intSet is a packed set of 16-bit integers in ascending order.
func intSet(members ...int16) string {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 2)
	b = le.AppendUint32(b, uint32(len(members)))
	for _, m := range members {
		b = le.AppendUint16(b, uint16(m))
	}
	return string(b)
}
