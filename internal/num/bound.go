package num

import (
	"bytes"
	"math"
	"strconv"
)

// ParseBound reads the end of a range of scores as Redis does, with all that strtod takes: blanks in front, the empty text,
// which is 0, and numbers too big or too small for a double, which become infinite or 0. A NaN is refused. What stands
// behind a zero byte is not looked at.
func ParseBound(b []byte) (float64, bool) {
	if f, ok := ParseFloat(b); ok {
		return f, true
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if len(b) == 0 {
		return 0, true
	}
	b = bytes.TrimLeft(b, " \t\n\v\f\r")
	if f, ok := ParseFloat(b); ok {
		return f, true
	}
	l, ok := scanLiteral(b)
	if !ok {
		return 0, false
	}
	text := string(b)
	if l.hex && !l.marked {
		text += "p0"
	}
	f, _ := strconv.ParseFloat(text, 64) // out of range: infinite, or 0
	return f, !math.IsNaN(f)
}
