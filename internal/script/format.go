package script

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// formatSpec is one directive of format.
type formatSpec struct {
	left, plus, space, alt, zero bool
	width, prec                  int // prec -1: none
	verb                         byte
}

func (c *call) formatSpec(f string, i int) (formatSpec, int) {
	sp := formatSpec{prec: -1}
	start := i
flags:
	for ; i < len(f); i++ {
		switch f[i] {
		case '-':
			sp.left = true
		case '+':
			sp.plus = true
		case ' ':
			sp.space = true
		case '#':
			sp.alt = true
		case '0':
			sp.zero = true
		default:
			break flags
		}
	}
	if i-start >= 6 {
		c.Fail("invalid format (repeated flags)")
	}
	digits := func() (n int) {
		for k := 0; k < 2 && i < len(f) && isDigit(f[i]); k++ {
			n = n*10 + int(f[i]-'0')
			i++
		}
		return n
	}
	sp.width = digits()
	if i < len(f) && f[i] == '.' {
		i++
		sp.prec = digits()
	}
	if i < len(f) && isDigit(f[i]) {
		c.Fail("invalid format (width or precision too long)")
	}
	if i < len(f) {
		sp.verb = f[i]
	}
	return sp, i + 1
}

func strFormat(c *call) {
	f := c.Str(0)
	var out bytes.Buffer
	arg := 0
	for i := 0; i < len(f); {
		if f[i] != '%' {
			out.WriteByte(f[i])
			i++
			continue
		}
		i++
		if i < len(f) && f[i] == '%' {
			out.WriteByte('%')
			i++
			continue
		}
		var sp formatSpec
		sp, i = c.formatSpec(f, i)
		arg++
		before := out.Len()
		c.formatOne(&out, sp, arg)
		c.vm.charge(out.Len() - before)
		if out.Len() > stringMax {
			c.Fail("string length overflow")
		}
	}
	c.Return(c.NewString(out.String()))
}

func (c *call) formatOne(out *bytes.Buffer, sp formatSpec, arg int) {
	if arg >= c.n {
		c.BadArg(arg, "no value")
	}
	switch sp.verb {
	case 'c':
		sp.zero = false
		sp.pad(out, cString(string([]byte{byte(c.Int(arg))})))
	case 'd', 'i':
		sp.integer(out, strconv.FormatInt(int64(cut(c.Num(arg))), 10))
	case 'o':
		sp.plus, sp.space = false, false
		sp.integer(out, strconv.FormatUint(toUint(c.Num(arg)), 8))
	case 'u':
		sp.plus, sp.space = false, false
		sp.integer(out, strconv.FormatUint(toUint(c.Num(arg)), 10))
	case 'x', 'X':
		sp.plus, sp.space = false, false
		s := strconv.FormatUint(toUint(c.Num(arg)), 16)
		if sp.verb == 'X' {
			s = strings.ToUpper(s)
		}
		sp.integer(out, s)
	case 'e', 'E', 'f', 'g', 'G':
		sp.float(out, c.Num(arg))
	case 'q':
		quote(out, c.Str(arg))
	case 's':
		s := c.Str(arg)
		if sp.prec >= 0 || len(s) < longText {
			s = cString(s)
		}
		if sp.prec >= 0 && sp.prec < len(s) {
			s = s[:sp.prec]
		}
		sp.zero = false
		sp.pad(out, s)
	default:
		verb := ""
		if sp.verb != 0 {
			verb = string([]byte{sp.verb})
		}
		c.Fail("invalid option '%%%s' to 'format'", verb)
	}
}

// toUint is cut for numbers without sign: what does not fit becomes 0.
func toUint(f float64) uint64 {
	switch {
	case f < 9223372036854775808:
		return uint64(cut(f))
	case f < 18446744073709551616:
		return uint64(f)
	}
	return 0
}

// longText is from where on a string without a precision is written as it is.
const longText = 100

// pad writes s at its width.
func (sp *formatSpec) pad(out *bytes.Buffer, s string) {
	fill := sp.width - len(s)
	if sp.left {
		out.WriteString(s)
	}
	for ; fill > 0; fill-- {
		out.WriteByte(' ')
	}
	if !sp.left {
		out.WriteString(s)
	}
}

// number writes sign, zeros and digits at the width.
func (sp *formatSpec) number(out *bytes.Buffer, sign, digits string, zeros bool) {
	if zeros && !sp.left {
		if n := sp.width - len(sign) - len(digits); n > 0 {
			digits = strings.Repeat("0", n) + digits
		}
	}
	sp.pad(out, sign+digits)
}

func (sp *formatSpec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case sp.plus:
		return "+"
	case sp.space:
		return " "
	}
	return ""
}

func (sp *formatSpec) integer(out *bytes.Buffer, s string) {
	digits, negative := strings.CutPrefix(s, "-")
	if n := sp.prec - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	if sp.prec == 0 && digits == "0" {
		digits = ""
	}
	if sp.alt && digits != "0" && digits != "" {
		switch sp.verb {
		case 'x', 'X':
			digits = "0" + string([]byte{sp.verb}) + digits
		case 'o':
			digits = "0" + digits
		}
	}
	sp.number(out, sp.sign(negative), digits, sp.zero && sp.prec < 0)
}

func (sp *formatSpec) float(out *bytes.Buffer, f float64) {
	sign := sp.sign(math.Signbit(f))
	upper := sp.verb < 'a'
	if math.IsInf(f, 0) || math.IsNaN(f) {
		text := "inf"
		if math.IsNaN(f) {
			text = "nan"
		}
		if upper {
			text = strings.ToUpper(text)
		}
		sp.number(out, sign, text, false)
		return
	}
	prec := sp.prec
	if prec < 0 {
		prec = 6
	}
	verb := sp.verb
	if verb|0x20 == 'g' && prec == 0 {
		prec = 1
	}
	s := strconv.FormatFloat(math.Abs(f), verb, prec, 64)
	if sp.alt && prec == 0 && verb|0x20 != 'g' {
		if i := strings.IndexAny(s, "eE"); i >= 0 {
			s = s[:i] + "." + s[i:]
		} else {
			s += "."
		}
	}
	sp.number(out, sign, s, sp.zero)
}

// quote writes a string as a literal of the language.
func quote(out *bytes.Buffer, s string) {
	out.WriteByte('"')
	for i := range len(s) {
		switch ch := s[i]; ch {
		case '"', '\\', '\n':
			out.WriteByte('\\')
			out.WriteByte(ch)
		case '\r':
			out.WriteString("\\r")
		case 0:
			out.WriteString("\\000")
		default:
			out.WriteByte(ch)
		}
	}
	out.WriteByte('"')
}
