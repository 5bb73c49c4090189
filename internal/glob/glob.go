// Package glob matches the patterns of KEYS, SCAN, PSUBSCRIBE, ACL rules and CONFIG GET.
package glob

import "bytes"

// Match tells whether the whole of s fits pattern: '*' is any bytes, '?' any one byte, "[abc]", "[a-z]" and "[^a]" one byte
// of a set or not of it, '\' takes the special meaning from the next byte. With fold, letters of ASCII match in either case.
//
// Malformed patterns mean what they mean to Redis: a set that is not closed ends with the pattern, a '\' at the end is a
// backslash, a range with its ends the wrong way round is turned. So do some oddities: the ends of a range are signed bytes
// (without fold), a byte behind '\' in a set does not fold, and an empty s fits an empty pattern only, not even "*".
//
// Every element but '*' takes one byte, so only the last '*' ever needs another try, and the time is at most the product
// of both lengths.
func Match(pattern, s []byte, fold bool) bool {
	if len(s) == 0 {
		return len(pattern) == 0
	}
	const none = -1
	star, tried := none, 0 // the pattern behind the last '*', and where in s it is tried to start
	for p, at := 0, 0; at < len(s); {
		next := mismatch
		if p < len(pattern) {
			switch c := pattern[p]; {
			case c == '*':
				p = skipStars(pattern, p)
				if p == len(pattern) {
					return true
				}
				at += skip(pattern[p:], s[at:], fold)
				star, tried = p, at
				continue
			case c == s[at] && !isSpecial(c):
				next = p + 1
			default:
				next = element(pattern, p, s[at], fold)
			}
		}
		switch {
		case next == mismatch && star == none:
			return false
		case next == mismatch:
			tried++
			tried += skip(pattern[star:], s[tried:], fold)
			p, at = star, tried
		case at == len(s)-1:
			return skipStars(pattern, next) == len(pattern)
		default:
			p = next
			at++
		}
	}
	return false
}

// isSpecial tells whether c may stand for something else in a pattern, besides '*'.
func isSpecial(c byte) bool { return c == '?' || c == '[' || c == '\\' }

// skipStars is the position of the first byte from p on that is no '*'.
func skipStars(pattern []byte, p int) int {
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p
}

// skip is how many bytes of s cannot be the start of what fits pattern; at most all of them. The pattern is not empty.
func skip(pattern, s []byte, fold bool) int {
	if isSpecial(pattern[0]) || fold {
		return 0
	}
	if i := bytes.IndexByte(s, pattern[0]); i >= 0 {
		return i
	}
	return len(s)
}

// mismatch stands for the position behind an element that does not fit.
const mismatch = -1

// element is the position behind the element of the pattern at p when c fits it.
func element(pattern []byte, p int, c byte, fold bool) (next int) {
	switch pattern[p] {
	case '?':
		return p + 1
	case '[':
		return set(pattern, p+1, c, fold)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	if pattern[p] == c || fold && lower(pattern[p]) == lower(c) {
		return p + 1
	}
	return mismatch
}

// set is element for a set whose bytes start at p.
func set(pattern []byte, p int, c byte, fold bool) (next int) {
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	found := false
	for ; p < len(pattern) && pattern[p] != ']'; p++ {
		switch left := len(pattern) - p; {
		case pattern[p] == '\\' && left >= 2:
			p++
			found = found || pattern[p] == c
		case left >= 3 && pattern[p+1] == '-':
			found = found || inRange(pattern[p], pattern[p+2], c, fold)
			p += 2
		default:
			found = found || pattern[p] == c || fold && lower(pattern[p]) == lower(c)
		}
	}
	if found == negated {
		return mismatch
	}
	return min(p+1, len(pattern))
}

// inRange tells whether c lies between two bytes, both included, in whatever order they are.
func inRange(first, last, c byte, fold bool) bool {
	low, high, at := int(int8(first)), int(int8(last)), int(int8(c))
	if low > high {
		low, high = high, low
	}
	if fold {
		low, high, at = foldedOrder(low), foldedOrder(high), foldedOrder(at)
	}
	return at >= low && at <= high
}

// foldedOrder is where a signed byte stands in a range that folds. The tolower of glibc gives bytes from 0x80 on as they
// are without a sign, except 0xff, which it takes for the end of a file.
func foldedOrder(c int) int {
	if c == -1 {
		return c
	}
	return int(lower(byte(c)))
}

// lower is tolower of the C locale.
func lower(c byte) byte {
	if c-'A' < 26 {
		return c + ('a' - 'A')
	}
	return c
}
