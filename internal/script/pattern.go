package script

import lua "github.com/yuin/gopher-lua"

// matcher matches one pattern against one string. A place in the string is an index, -1 is no match.
type matcher struct {
	c        *call
	src, pat string
	level    int
	depth    int
	captures [capturesMax]struct{ at, len int }
}

const (
	capturesMax  = 32
	capOpen      = -1 // length of a capture that is not closed
	capPosition  = -2 // length of a capture of a place
	matchDeepMax = 10_000
)

func (m *matcher) capture(i, from, to int) lua.LValue {
	if i >= m.level {
		if i != 0 {
			m.c.Fail("invalid capture index")
		}
		return m.c.NewString(m.src[from:to])
	}
	switch k := m.captures[i]; k.len {
	case capOpen:
		m.c.Fail("unfinished capture")
	case capPosition:
		return num(k.at + 1)
	default:
		return m.c.NewString(m.src[k.at : k.at+k.len])
	}
	return lua.LNil
}

// pushCaptures adds the captures to the results; without any, the whole match, unless from is negative.
func (m *matcher) pushCaptures(from, to int) {
	n := m.level
	if n == 0 && from >= 0 {
		n = 1
	}
	for i := range n {
		m.c.push(m.capture(i, from, to))
	}
}

// classEnd is the place behind the single item that begins at p.
func (m *matcher) classEnd(p int) int {
	ch := m.pat[p]
	p++
	switch ch {
	case '%':
		if p >= len(m.pat) {
			m.c.Fail("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if p < len(m.pat) && m.pat[p] == '^' {
			p++
		}
		for first := true; first || p < len(m.pat) && m.pat[p] != ']'; first = false {
			if p >= len(m.pat) {
				break
			}
			if m.pat[p] == '%' {
				p++
			}
			p++
		}
		if p >= len(m.pat) {
			m.c.Fail("malformed pattern (missing ']')")
		}
		return p + 1
	}
	return p
}

func inClass(ch, class byte) bool {
	var ok bool
	switch class | 0x20 {
	case 'a':
		ok = ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z'
	case 'c':
		ok = ch < 32 || ch == 127
	case 'd':
		ok = isDigit(ch)
	case 'l':
		ok = ch >= 'a' && ch <= 'z'
	case 'p':
		ok = ch > 32 && ch < 127 && !isDigit(ch) && (ch|0x20 < 'a' || ch|0x20 > 'z')
	case 's':
		ok = ch == ' ' || ch >= 9 && ch <= 13
	case 'u':
		ok = ch >= 'A' && ch <= 'Z'
	case 'w':
		ok = isDigit(ch) || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z'
	case 'x':
		ok = digitOf(ch) < 16
	case 'z':
		ok = ch == 0
	default:
		return class == ch
	}
	if class < 'a' {
		return !ok
	}
	return ok
}

// inSet matches a set; p is at the bracket and end behind the closing one.
func (m *matcher) inSet(ch byte, p, end int) bool {
	end--
	sig := true
	p++
	if m.pat[p] == '^' {
		sig = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pat[p] == '%':
			p++
			if inClass(ch, m.pat[p]) {
				return sig
			}
		case p+2 < end && m.pat[p+1] == '-':
			if m.pat[p] <= ch && ch <= m.pat[p+2] {
				return sig
			}
			p += 2
		case m.pat[p] == ch:
			return sig
		}
	}
	return !sig
}

func (m *matcher) single(s, p, end int) bool {
	if s >= len(m.src) {
		return false
	}
	ch := m.src[s]
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return inClass(ch, m.pat[p+1])
	case '[':
		return m.inSet(ch, p, end)
	}
	return m.pat[p] == ch
}

func (m *matcher) match(s, p int) int {
	m.depth++
	if m.depth > matchDeepMax {
		m.c.Fail("pattern too complex")
	}
	defer func() { m.depth-- }()
	for p < len(m.pat) {
		m.c.Burn()
		switch ch := m.pat[p]; {
		case ch == '(':
			return m.open(s, p)
		case ch == ')':
			return m.close(s, p+1)
		case ch == '%' && p+1 < len(m.pat) && m.pat[p+1] == 'b':
			if s = m.balance(s, p+2); s < 0 {
				return -1
			}
			p += 4
			continue
		case ch == '%' && p+1 < len(m.pat) && m.pat[p+1] == 'f':
			var ok bool
			if p, ok = m.frontier(s, p+2); !ok {
				return -1
			}
			continue
		case ch == '%' && p+1 < len(m.pat) && isDigit(m.pat[p+1]):
			if s = m.backReference(s, m.pat[p+1]); s < 0 {
				return -1
			}
			p += 2
			continue
		case ch == '$' && p+1 == len(m.pat):
			if s == len(m.src) {
				return s
			}
			return -1
		}
		end := m.classEnd(p)
		rep := byte(0)
		if end < len(m.pat) {
			rep = m.pat[end]
		}
		switch rep {
		case '?':
			if m.single(s, p, end) {
				if r := m.match(s+1, end+1); r >= 0 {
					return r
				}
			}
			p = end + 1
		case '*':
			return m.expandMost(s, p, end)
		case '+':
			if !m.single(s, p, end) {
				return -1
			}
			return m.expandMost(s+1, p, end)
		case '-':
			return m.expandLeast(s, p, end)
		default:
			if !m.single(s, p, end) {
				return -1
			}
			s++
			p = end
		}
	}
	return s
}

func (m *matcher) open(s, p int) int {
	if m.level >= capturesMax {
		m.c.Fail("too many captures")
	}
	k := &m.captures[m.level]
	k.at, k.len = s, capOpen
	if p+1 < len(m.pat) && m.pat[p+1] == ')' {
		k.len = capPosition
		p++
	}
	m.level++
	r := m.match(s, p+1)
	if r < 0 {
		m.level--
	}
	return r
}

func (m *matcher) close(s, p int) int {
	for i := m.level - 1; i >= 0; i-- {
		if k := &m.captures[i]; k.len == capOpen {
			k.len = s - k.at
			r := m.match(s, p)
			if r < 0 {
				k.len = capOpen
			}
			return r
		}
	}
	m.c.Fail("invalid pattern capture")
	return -1
}

func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pat) {
		m.c.Fail("unbalanced pattern")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1
	}
	b, e, depth := m.pat[p], m.pat[p+1], 1
	for s++; s < len(m.src); s++ {
		switch m.src[s] {
		case e:
			if depth--; depth == 0 {
				return s + 1
			}
		case b:
			depth++
		}
	}
	return -1
}

func (m *matcher) frontier(s, p int) (int, bool) {
	if p >= len(m.pat) || m.pat[p] != '[' {
		m.c.Fail("missing '[' after '%f' in pattern")
	}
	end := m.classEnd(p)
	var before, at byte
	if s > 0 {
		before = m.src[s-1]
	}
	if s < len(m.src) {
		at = m.src[s]
	}
	return end, !m.inSet(before, p, end) && m.inSet(at, p, end)
}

func (m *matcher) backReference(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= m.level || m.captures[i].len == capOpen {
		m.c.Fail("invalid capture index")
	}
	k := m.captures[i]
	if k.len < 0 {
		return -1
	}
	if text := m.src[k.at : k.at+k.len]; len(m.src)-s >= len(text) && m.src[s:s+len(text)] == text {
		return s + len(text)
	}
	return -1
}

func (m *matcher) expandMost(s, p, end int) int {
	n := 0
	for m.single(s+n, p, end) {
		n++
	}
	for ; n >= 0; n-- {
		m.c.Burn()
		if r := m.match(s+n, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

func (m *matcher) expandLeast(s, p, end int) int {
	for {
		m.c.Burn()
		if r := m.match(s, end+1); r >= 0 {
			return r
		}
		if !m.single(s, p, end) {
			return -1
		}
		s++
	}
}
