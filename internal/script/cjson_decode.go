package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file is cjson.decode.

// jsonReader reads a text.
type jsonReader struct {
	c     *call
	cfg   *jsonConfig
	in    string
	at    int
	depth int

	tok  string // name of the token under way
	from int    // where it begins
	str  string
	num  float64
	err  string // why it is none
}

func jsonDecode(c *call) {
	if c.n != 1 {
		c.BadArg(0, "expected 1 argument")
	}
	r := jsonReader{c: c, cfg: &c.vm.json, in: c.Str(0)}
	if len(r.in) >= 2 && (r.in[0] == 0 || r.in[1] == 0) {
		c.Fail("JSON parser does not support UTF-16 or UTF-32")
	}
	r.next()
	v := r.value()
	r.next()
	if r.tok != "T_END" {
		r.unexpected("the end")
	}
	c.Return(v)
}

func (r *jsonReader) unexpected(wanted string) {
	found := r.tok
	if found == "T_ERROR" {
		found = r.err
	}
	r.c.Fail("Expected %s but found %s at character %d", wanted, found, r.from+1)
}

func (r *jsonReader) broken(why string) {
	r.tok, r.err, r.from = "T_ERROR", why, r.at
}

func (r *jsonReader) char(i int) byte {
	if r.at+i < len(r.in) {
		return r.in[r.at+i]
	}
	return 0
}

func (r *jsonReader) next() {
	r.c.Burn()
	for r.char(0) == ' ' || r.char(0) == '\t' || r.char(0) == '\n' || r.char(0) == '\r' {
		r.at++
	}
	r.from = r.at
	ch := r.char(0)
	if i := strings.IndexByte("{}[]:,", ch); i >= 0 && ch != 0 {
		r.tok = [...]string{"T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END", "T_COLON", "T_COMMA"}[i]
		r.at++
		return
	}
	rest := r.in[min(r.at, len(r.in)):]
	switch {
	case ch == 0:
		r.tok = "T_END"
	case ch == '"':
		r.string()
	case ch == '-' || isDigit(ch):
		if !r.cfg.decodeInvalid && invalidNumber(rest) {
			r.broken("invalid number")
			return
		}
		r.number(rest)
	case strings.HasPrefix(rest, "true"):
		r.tok, r.num = "T_BOOLEAN", 1
		r.at += 4
	case strings.HasPrefix(rest, "false"):
		r.tok, r.num = "T_BOOLEAN", 0
		r.at += 5
	case strings.HasPrefix(rest, "null"):
		r.tok = "T_NULL"
		r.at += 4
	case strings.IndexByte("fiInNt+", ch) >= 0 && r.cfg.decodeInvalid && invalidNumber(rest):
		r.number(rest)
	default:
		r.broken("invalid token")
	}
}

// invalidNumber says whether a number is none of JSON's: a plus sign, a leading zero, hexadecimal, infinite, not a number.
func invalidNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	if s == "" {
		return false
	}
	if s[0] == '0' {
		return len(s) > 1 && (s[1]|0x20 == 'x' || isDigit(s[1]))
	}
	if s[0] <= '9' {
		return false
	}
	low := strings.ToLower(s[:min(3, len(s))])
	return low == "inf" || low == "nan"
}

// number reads as much as strtod does.
func (r *jsonReader) number(s string) {
	n := numberPrefix(s)
	f, ok := parseNumber(s[:n])
	if n == 0 || !ok {
		r.broken("invalid number")
		return
	}
	r.tok, r.num = "T_NUMBER", f
	r.at += n
}

// numberPrefix is how many bytes of s spell a number of C.
func numberPrefix(s string) int {
	i := 0
	if s[0] == '-' || s[0] == '+' {
		i++
	}
	low := strings.ToLower(s[i:min(len(s), i+8)])
	for _, word := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(low, word) {
			return i + len(word)
		}
	}
	if strings.HasPrefix(low, "0x") {
		j := i + 2
		for j < len(s) && digitOf(s[j]) < 16 {
			j++
		}
		if j > i+2 {
			return j
		}
		return i + 1
	}
	digits := 0
	for ; i < len(s) && isDigit(s[i]); i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && isDigit(s[i]); i++ {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			for i = j; i < len(s) && isDigit(s[i]); i++ {
			}
		}
	}
	return i
}

func (r *jsonReader) string() {
	r.at++
	from := r.at
	var out []byte
	for {
		ch := r.char(0)
		if ch == '"' {
			break
		}
		if ch == 0 {
			r.broken("unexpected end of string")
			return
		}
		if ch != '\\' {
			r.at++
			continue
		}
		out = append(out, r.in[from:r.at]...)
		if r.char(1) == 'u' {
			var ok bool
			if out, ok = r.unicode(out); !ok {
				r.broken("invalid unicode escape code")
				return
			}
			from = r.at
			continue
		}
		k := strings.IndexByte(`"\/btnfr`, r.char(1))
		if k < 0 || r.char(1) == 0 {
			r.broken("invalid escape code")
			return
		}
		out = append(out, "\"\\/\b\t\n\f\r"[k])
		r.at += 2
		from = r.at
	}
	r.tok = "T_STRING"
	r.c.vm.charge(r.at - from + len(out))
	if out == nil {
		r.str = r.in[from:r.at]
	} else {
		r.str = string(append(out, r.in[from:r.at]...))
	}
	r.at++
}

func (r *jsonReader) hex4(i int) int {
	n := 0
	for k := i; k < i+4; k++ {
		d := digitOf(r.char(k))
		if d >= 16 {
			return -1
		}
		n = n<<4 | d
	}
	return n
}

// unicode reads \uXXXX, or two of them that are a pair.
func (r *jsonReader) unicode(out []byte) ([]byte, bool) {
	code := r.hex4(2)
	size := 6
	if code < 0 {
		return out, false
	}
	if code&0xf800 == 0xd800 {
		low := -1
		if code&0x400 == 0 && r.char(6) == '\\' && r.char(7) == 'u' {
			low = r.hex4(8)
		}
		if low < 0 || low&0xfc00 != 0xdc00 {
			return out, false
		}
		code = (code&0x3ff)<<10 | low&0x3ff
		code += 0x10000
		size = 12
	}
	r.at += size
	return append(out, string(rune(code))...), true
}

func (r *jsonReader) value() lua.LValue {
	switch r.tok {
	case "T_STRING":
		return lua.LString(r.str)
	case "T_NUMBER":
		return lua.LNumber(r.num)
	case "T_BOOLEAN":
		return lua.LBool(r.num != 0)
	case "T_NULL":
		return r.cfg.null
	case "T_OBJ_BEGIN":
		return r.object()
	case "T_ARR_BEGIN":
		return r.array()
	}
	r.unexpected("value")
	return nil
}

func (r *jsonReader) descend() {
	r.depth++
	if r.depth > r.cfg.decodeDepth || r.depth > jsonDepthMax {
		r.c.Fail("Found too many nested data structures (%d) at character %d", r.depth, r.at)
	}
	r.c.vm.charge(128)
}

func (r *jsonReader) object() lua.LValue {
	r.descend()
	t := r.c.L.CreateTable(0, 4)
	r.next()
	for more := r.tok != "T_OBJ_END"; more; more = r.another("T_OBJ_END", "comma or object end", "object key string") {
		if r.tok != "T_STRING" {
			r.unexpected("object key string")
		}
		key := r.str
		r.next()
		if r.tok != "T_COLON" {
			r.unexpected("colon")
		}
		r.next()
		r.c.vm.charge(3 * elementBytes)
		t.RawSetString(key, r.value())
	}
	r.depth--
	return t
}

func (r *jsonReader) array() lua.LValue {
	r.descend()
	t := r.c.L.NewTable()
	r.next()
	i := 0
	for more := r.tok != "T_ARR_END"; more; more = r.another("T_ARR_END", "comma or array end", "value") {
		i++
		r.c.vm.charge(elementBytes)
		t.RawSetInt(i, r.value())
	}
	r.depth--
	return t
}

// another goes on behind an element to the next one; false when the end has come instead. The texts name what else may
// stand behind an element, and behind a comma.
func (r *jsonReader) another(end, behindElement, behindComma string) bool {
	r.next()
	if r.tok == end {
		return false
	}
	if r.tok != "T_COMMA" {
		r.unexpected(behindElement)
	}
	r.next()
	if r.tok == end {
		r.unexpected(behindComma)
	}
	return true
}
