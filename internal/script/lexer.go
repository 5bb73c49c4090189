package script

import (
	"fmt"
	"strings"
)

// token is a word of a source. Words and signs of the language are their own kind.
type token struct {
	kind string
	text string // as errors show it
	line int    // where it ends
}

// Kinds of tokens that are not their own text.
const (
	tokenEOF    = "<eof>"
	tokenName   = "<name>"
	tokenNumber = "<number>"
	tokenString = "<string>"
)

// reserved are the words that cannot be names.
var reserved = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true, "for": true, "function": true,
	"if": true, "in": true, "local": true, "nil": true, "not": true, "or": true, "repeat": true, "return": true, "then": true,
	"true": true, "until": true, "while": true,
}

// lexer cuts a source into tokens and complains as the reference implementation does.
type lexer struct {
	src  string
	name string // of the source
	at   int
	line int
}

func (x *lexer) peek(i int) byte {
	if x.at+i < len(x.src) {
		return x.src[x.at+i]
	}
	return 0
}

// fail ends the reading of the source.
func (x *lexer) fail(text, near string) {
	panic(&syntaxError{fmt.Sprintf("%s:%d: %s near '%s'", x.name, x.line, text, near)})
}

func (x *lexer) next() token {
	x.skip()
	if x.at >= len(x.src) {
		return token{tokenEOF, tokenEOF, x.line}
	}
	from, c := x.at, x.src[x.at]
	switch {
	case isAlpha(c):
		for isAlpha(x.peek(0)) || isDigit(x.peek(0)) {
			x.at++
		}
		word := x.src[from:x.at]
		if reserved[word] {
			return token{word, word, x.line}
		}
		return token{tokenName, word, x.line}
	case isDigit(c), c == '.' && isDigit(x.peek(1)):
		return x.number()
	case c == '"' || c == '\'':
		return x.quoted(c)
	case c == '[':
		if n := x.longLevel(); n >= 0 {
			return x.long(n, "unfinished long string")
		} else if x.peek(1) == '=' {
			for x.at++; x.peek(0) == '='; x.at++ {
			}
			x.fail("invalid long string delimiter", x.src[from:x.at])
		}
	}
	for _, sign := range []string{"...", "..", "==", "~=", "<=", ">="} {
		if strings.HasPrefix(x.src[x.at:], sign) {
			x.at += len(sign)
			return token{sign, sign, x.line}
		}
	}
	x.at++
	sign := string([]byte{c})
	if c < ' ' || c == 127 {
		return token{sign, fmt.Sprintf("char(%d)", c), x.line}
	}
	return token{sign, sign, x.line}
}

// newline passes over the end of a line, of one or two bytes.
func (x *lexer) newline() {
	c := x.src[x.at]
	x.at++
	if d := x.peek(0); (d == '\n' || d == '\r') && d != c {
		x.at++
	}
	x.line++
}

// skip passes over space and comments.
func (x *lexer) skip() {
	for x.at < len(x.src) {
		switch c := x.src[x.at]; {
		case c == '\n' || c == '\r':
			x.newline()
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			x.at++
		case c == '-' && x.peek(1) == '-':
			x.at += 2
			if n := x.longLevel(); n >= 0 {
				x.long(n, "unfinished long comment")
				continue
			}
			for x.at < len(x.src) && x.src[x.at] != '\n' && x.src[x.at] != '\r' {
				x.at++
			}
		default:
			return
		}
	}
}

// longLevel is the number of signs = in the opening bracket of a long string; -1 when there is none.
func (x *lexer) longLevel() int {
	if x.peek(0) != '[' {
		return -1
	}
	n := 0
	for x.peek(1+n) == '=' {
		n++
	}
	if x.peek(1+n) != '[' {
		return -1
	}
	return n
}

func (x *lexer) long(level int, unfinished string) token {
	from := x.at
	x.at += level + 2
	end := "]" + strings.Repeat("=", level) + "]"
	for x.at < len(x.src) {
		switch c := x.src[x.at]; {
		case strings.HasPrefix(x.src[x.at:], end):
			x.at += len(end)
			return token{tokenString, x.src[from:x.at], x.line}
		case level == 0 && strings.HasPrefix(x.src[x.at:], "[["):
			x.fail("nesting of [[...]] is deprecated", "[")
		case c == '\n' || c == '\r':
			x.newline()
		default:
			x.at++
		}
	}
	x.fail(unfinished, tokenEOF)
	return token{}
}

func (x *lexer) number() token {
	from := x.at
	for isDigit(x.peek(0)) || x.peek(0) == '.' {
		x.at++
	}
	if x.peek(0)|0x20 == 'e' {
		x.at++
		if x.peek(0) == '+' || x.peek(0) == '-' {
			x.at++
		}
	}
	for isAlpha(x.peek(0)) || isDigit(x.peek(0)) {
		x.at++
	}
	text := x.src[from:x.at]
	if _, ok := parseNumber(text); !ok {
		x.fail("malformed number", text)
	}
	return token{tokenNumber, text, x.line}
}

func (x *lexer) quoted(quote byte) token {
	var read strings.Builder // what an error shows: the value so far behind the quote
	read.WriteByte(quote)
	for x.at++; ; {
		if x.at >= len(x.src) {
			x.fail("unfinished string", tokenEOF)
		}
		switch c := x.src[x.at]; c {
		case quote:
			x.at++
			read.WriteByte(quote)
			return token{tokenString, cString(read.String()), x.line}
		case '\n', '\r':
			x.fail("unfinished string", cString(read.String()))
		case '\\':
			x.at++
			x.escape(&read)
		default:
			read.WriteByte(c)
			x.at++
		}
	}
}

// escapes are the values of the letters behind a backslash.
var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escape reads what is behind a backslash.
func (x *lexer) escape(read *strings.Builder) {
	c := x.peek(0)
	switch v, known := escapes[c]; {
	case x.at >= len(x.src): // the caller complains
	case known:
		read.WriteByte(v)
		x.at++
	case c == '\n' || c == '\r':
		read.WriteByte('\n')
		x.newline()
	case isDigit(c):
		n := 0
		for i := 0; i < 3 && isDigit(x.peek(0)); i++ {
			n = n*10 + int(x.peek(0)-'0')
			x.at++
		}
		if n > 255 {
			x.fail("escape sequence too large", cString(read.String()))
		}
		read.WriteByte(byte(n))
	default:
		read.WriteByte(c)
		x.at++
	}
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
