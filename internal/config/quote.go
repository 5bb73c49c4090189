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
func quote(s string) string { return string(AppendQuoted(nil, []byte(s))) }

// AppendQuoted appends text in double quotes, with what cannot be shown escaped: as redis.conf has strings, and MONITOR
// arguments.
func AppendQuoted(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\a':
			dst = append(dst, `\a`...)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c < ' ' || c > '~':
			dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// quoteIfNeeded quotes a string that would not be one word as it is.
func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsAny(s, "\"'\\# ") || strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' }) {
		return quote(s)
	}
	return s
}
