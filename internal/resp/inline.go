// Inline commands: a line of words, as somebody types it into telnet.

package resp

import "bytes"

// inline takes one inline command from the start of buf.
func (p *Parser) inline(buf []byte, cmd *Command) (n int, err error) {
	end := p.search(buf, '\n')
	if end < 0 {
		if len(buf) > p.maxInline() {
			return 0, errBigInline
		}
		return 0, nil
	}
	line := bytes.TrimSuffix(buf[:end], []byte{'\r'})
	args, ok := SplitWords(line, cmd.room(0))
	if !ok {
		return 0, errUnbalanced
	}
	cmd.Args = args
	p.Reset()
	return end + 1, nil
}

// SplitWords splits a line into words as Redis splits inline commands and configuration lines, and appends them to words.
// A word may be in quotes, or go over into quotes: double ones with the escapes \n \r \t \b \a \xhh, single ones with \'
// only. Behind a closing quote there must be a blank or the end. It is false when quotes are left open or go on. A NUL ends
// the line. The quotes are resolved in place: the words point into line, whose bytes are overwritten.
func SplitWords(line []byte, words [][]byte) ([][]byte, bool) {
	if end := bytes.IndexByte(line, 0); end >= 0 {
		line = line[:end]
	}
	for at := 0; ; {
		for at < len(line) && isSpace(line[at]) {
			at++
		}
		if at == len(line) {
			return words, true
		}
		end, next := word(line, at)
		if next == unbalanced {
			return words, false
		}
		words = append(words, line[at:end:end])
		at = next
	}
}

// unbalanced stands for the position behind a word whose quotes are wrong.
const unbalanced = -1

// word resolves the word that starts at byte at. Its text then ends at end, and next is where to go on.
func word(line []byte, at int) (end, next int) {
	end = at
	for ; at < len(line); at++ {
		switch c := line[at]; c {
		case ' ', '\n', '\r', '\t': // vertical tab and form feed are blanks between words, but no end of a word
			return end, at
		case '"':
			return doubleQuoted(line, end, at+1)
		case '\'':
			return singleQuoted(line, end, at+1)
		default:
			line[end] = c
			end++
		}
	}
	return end, at
}

// doubleQuoted resolves the rest of a word from behind its opening quote on.
func doubleQuoted(line []byte, end, at int) (int, int) {
	for ; at < len(line); at++ {
		c := line[at]
		switch {
		case c == '"':
			return end, behindQuote(line, at)
		case c == '\\' && at+3 < len(line) && line[at+1] == 'x' && isHex(line[at+2]) && isHex(line[at+3]):
			c = hexDigit(line[at+2])<<4 | hexDigit(line[at+3])
			at += 3
		case c == '\\' && at+1 < len(line):
			at++
			c = escaped(line[at])
		}
		line[end] = c
		end++
	}
	return end, unbalanced
}

// singleQuoted resolves the rest of a word from behind its opening quote on.
func singleQuoted(line []byte, end, at int) (int, int) {
	for ; at < len(line); at++ {
		c := line[at]
		switch {
		case c == '\'':
			return end, behindQuote(line, at)
		case c == '\\' && at+1 < len(line) && line[at+1] == '\'':
			at++
			c = '\''
		}
		line[end] = c
		end++
	}
	return end, unbalanced
}

// behindQuote is where to go on behind the closing quote at byte at.
func behindQuote(line []byte, at int) int {
	if at+1 < len(line) && !isSpace(line[at+1]) {
		return unbalanced
	}
	return at + 1
}

// escaped is the byte that a backslash and c stand for between double quotes.
func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

// isSpace is isspace of the C locale.
func isSpace(c byte) bool { return c == ' ' || c-'\t' < 5 }

func isHex(c byte) bool { return c-'0' < 10 || c|0x20-'a' < 6 }

func hexDigit(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
