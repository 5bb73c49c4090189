// Quotes: words of a line, and strings that may hold anything.

package config

import (
	"strings"

	"github.com/covey-db/covey/internal/resp"
)

// splitWords splits a line as redis.conf has it.
func splitWords(line string) ([]string, bool) {
	words, ok := resp.SplitWords([]byte(line), nil)
	if !ok {
		return nil, false
	}
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list, true
}

// quote puts a string into double quotes, so that splitWords gives it back.
func quote(s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\a':
			b.WriteString(`\a`)
		case '\b':
			b.WriteString(`\b`)
		default:
			if c < ' ' || c > '~' {
				b.WriteString(`\x`)
				b.WriteByte(hex[c>>4])
				b.WriteByte(hex[c&15])
				continue
			}
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteIfNeeded quotes a string that would not be one word as it is.
func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsAny(s, "\"'\\# ") || strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' }) {
		return quote(s)
	}
	return s
}
