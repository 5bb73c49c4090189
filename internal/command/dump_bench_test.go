package command

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRestore puts values back over their earlier copies, as a MIGRATE does at its target.
func BenchmarkRestore(b *testing.B) {
	var fields strings.Builder
	for i := range 8 {
		fmt.Fprintf(&fields, " field%d value%d-123456", i, i)
	}
	for _, kind := range []struct{ name, line string }{
		{"String", "SET k 0123456789abcdef0123456789abcdefZYXWVUTSRQPONMLKJIHGFEDCBA0123456789abcdef0123456789abcdefzyxwvutsrqponml"},
		{"Hash", "HSET k" + fields.String()},
		{"ZSet", "ZADD k 1 one 2.5 two 3 three 4 four 5 five 6 six 7 seven 8 eight"},
		{"Set", "SADD k one two three four five six seven eight"},
		{"List", "RPUSH k one two three four five six seven eight"},
	} {
		b.Run(kind.name, func(b *testing.B) {
			h := newHarness(b)
			h.do(kind.line)
			benchCommands(b, [][]byte{encodedWords("RESTORE", "to", "0", h.do("DUMP k").Text, "REPLACE")})
		})
	}
}
