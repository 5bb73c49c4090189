// The grammar of strtod and strtold in the C locale.

package num

import "bytes"

// literal is the text of a floating-point number, taken apart.
type literal struct {
	negative bool
	infinite bool   // the rest is empty
	hex      bool   // the digits are hexadecimal, and the exponent is a power of two
	digits   []byte // with at most one point among them
	marked   bool   // there is an exponent
	exp      int    // that exponent, cut to exponentMax
}

// exponentMax is beyond every exponent that matters for a text of up to a megabyte of digits.
const exponentMax = 1 << 22

// scanLiteral takes apart a text that is a number from end to end. A NaN is refused, as nothing takes one from a client.
func scanLiteral(b []byte) (l literal, ok bool) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		l.negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) > 0 && b[0]|0x20 == 'i' {
		l.infinite = true
		return l, bytes.EqualFold(b, []byte("inf")) || bytes.EqualFold(b, []byte("infinity"))
	}
	if len(b) > 2 && b[0] == '0' && b[1]|0x20 == 'x' {
		l.hex = true
		b = b[2:]
	}
	end := l.mantissaEnd(b)
	if end == 0 {
		return l, false
	}
	l.digits = b[:end]
	return l, l.exponent(b[end:])
}

// mantissaEnd is where the digits at the start of b end; 0 when there are none.
func (l *literal) mantissaEnd(b []byte) int {
	digits, point := 0, false
	for i, c := range b {
		switch {
		case c-'0' < 10, l.hex && c|0x20-'a' < 6:
			digits++
		case c == '.' && !point:
			point = true
		case digits == 0:
			return 0
		default:
			return i
		}
	}
	if digits == 0 {
		return 0
	}
	return len(b)
}

// exponent reads what follows the digits, which must be nothing or an exponent.
func (l *literal) exponent(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	mark := byte('e')
	if l.hex {
		mark = 'p'
	}
	if b[0]|0x20 != mark {
		return false
	}
	l.marked = true
	b = b[1:]
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	for _, c := range b {
		if c-'0' > 9 {
			return false
		}
		l.exp = min(l.exp*10+int(c-'0'), exponentMax)
	}
	if negative {
		l.exp = -l.exp
	}
	return len(b) > 0
}

// isZero tells whether all digits are zeros.
func (l *literal) isZero() bool {
	return len(bytes.Trim(l.digits, "0.")) == 0
}
