package script

import "strings"

// scanner finds what nests in a source, without caring for grammar.
type scanner struct {
	src  string
	at   int
	line int
}

type scanToken int

const (
	tokenEnd      scanToken = iota
	tokenOther              // a name, a number, a string
	tokenOpen               // a bracket or a block begins
	tokenClose              // and ends
	tokenBreak              // a new expression begins
	tokenOperator           // an expression goes on
)

func (s *scanner) peek(i int) byte {
	if s.at+i < len(s.src) {
		return s.src[s.at+i]
	}
	return 0
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func (s *scanner) next() scanToken {
	for s.at < len(s.src) {
		c := s.src[s.at]
		switch {
		case c == '\n':
			s.line++
			s.at++
		case c <= ' ':
			s.at++
		case c == '-' && s.peek(1) == '-':
			s.at += 2
			if n := s.longOpening(); n >= 0 {
				s.skipLong(n)
			} else {
				s.skipLine()
			}
		case c == '[':
			if n := s.longOpening(); n >= 0 {
				s.skipLong(n)
				return tokenOperator // a call may have it as its argument
			}
			s.at++
			return tokenOpen
		case isAlpha(c):
			return s.word()
		case c == '"' || c == '\'':
			s.skipString(c)
			return tokenOperator
		default:
			s.at++
			return symbol(c)
		}
	}
	return tokenEnd
}

func symbol(c byte) scanToken {
	switch c {
	case '(', '{':
		return tokenOpen
	case ')', ']', '}':
		return tokenClose
	case ',', ';', '=':
		return tokenBreak
	}
	return tokenOperator
}

func (s *scanner) word() scanToken {
	from := s.at
	for s.at < len(s.src) && (isAlpha(s.src[s.at]) || isDigit(s.src[s.at])) {
		s.at++
	}
	switch s.src[from:s.at] {
	case "function", "do", "then", "repeat":
		return tokenOpen
	case "end", "until":
		return tokenClose
	case "elseif": // ends a block, and its own nests in the one before
		return tokenOperator
	case "else", "local", "return", "if", "while", "for", "in":
		return tokenBreak
	case "and", "or", "not":
		return tokenOperator
	}
	return tokenOther
}

// longOpening measures the opening bracket of a long string; -1: there is none.
func (s *scanner) longOpening() int {
	if s.peek(0) != '[' {
		return -1
	}
	n := 0
	for s.peek(1+n) == '=' {
		n++
	}
	if s.peek(1+n) != '[' {
		return -1
	}
	s.at += n + 2
	return n
}

func (s *scanner) skipLong(n int) {
	end := "]" + strings.Repeat("=", n) + "]"
	i := strings.Index(s.src[s.at:], end)
	stop := len(s.src)
	if i >= 0 {
		stop = s.at + i + len(end)
	}
	s.line += strings.Count(s.src[s.at:stop], "\n")
	s.at = stop
}

func (s *scanner) skipLine() {
	if i := strings.IndexByte(s.src[s.at:], '\n'); i >= 0 {
		s.at += i
		return
	}
	s.at = len(s.src)
}

func (s *scanner) skipString(quote byte) {
	for s.at++; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '\\':
			s.at++
			if s.peek(0) == '\n' {
				s.line++
			}
		case quote:
			s.at++
			return
		case '\n':
			return // the parser complains
		}
	}
}
