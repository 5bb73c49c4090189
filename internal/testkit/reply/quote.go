package reply

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Quote writes a byte string in double quotes: printable ASCII as it is, the rest as \r \n \t \" \\ or \xHH.
func Quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Unquote reads the quoted string at the start of text and returns its content and the bytes it took.
func Unquote(text string) (content string, n int, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", 0, errors.New("no quote here")
	}
	var b strings.Builder
	for i := 1; i < len(text); {
		switch text[i] {
		case '"':
			return b.String(), i + 1, nil
		case '\\':
			c, used, err := unescape(text[i:])
			if err != nil {
				return "", 0, err
			}
			b.WriteByte(c)
			i += used
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return "", 0, fmt.Errorf("no closing quote in %s", text)
}

// unescape reads the escape at the start of text, which starts with a backslash.
func unescape(text string) (c byte, n int, err error) {
	if len(text) < 2 {
		return 0, 0, errors.New("a backslash ends the text")
	}
	switch text[1] {
	case 'r':
		return '\r', 2, nil
	case 'n':
		return '\n', 2, nil
	case 't':
		return '\t', 2, nil
	case '"', '\\':
		return text[1], 2, nil
	case 'x':
		if len(text) < 4 {
			return 0, 0, errors.New(`\x needs two digits`)
		}
		code, err := strconv.ParseUint(text[2:4], 16, 8)
		return byte(code), 4, err
	}
	return 0, 0, fmt.Errorf("unknown escape %s", text[:2])
}
