package glob

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		fits    []string
		misses  []string
	}{
		{"", []string{""}, []string{"a"}},
		{"*", []string{"a", "abc", "\x00", "\r\n"}, []string{""}},
		{"**", []string{"a"}, []string{""}},
		{"?", []string{"a", "\xff"}, []string{"", "ab"}},
		{"*?", []string{"a", "ab"}, []string{""}},
		{"h?llo", []string{"hello", "hallo", "hxllo"}, []string{"hllo", "heello"}},
		{"h*llo", []string{"hllo", "heeeello", "hllollo"}, []string{"hello!", "ello"}},
		{"h[ae]llo", []string{"hello", "hallo"}, []string{"hillo", "hllo"}},
		{"h[^e]llo", []string{"hallo", "h^llo"}, []string{"hello", "hllo"}},
		{"h[a-b]llo", []string{"hallo", "hbllo"}, []string{"hcllo", "h-llo"}},
		{"h[b-a]llo", []string{"hallo", "hbllo"}, []string{"hcllo"}},
		{"a*b*c", []string{"abc", "aXbYc", "abcbc"}, []string{"ab", "ac", "acb", "abcX"}},
		{"a*b**", []string{"ab", "abb", "aXbX"}, []string{"a", "ba"}},
		{"*ab", []string{"ab", "aab", "abab"}, []string{"aba", "b"}},
		{"*a", []string{"aaaa"}, []string{"aaab"}},
		{"a\\*b", []string{"a*b"}, []string{"ab", "aXb", "a\\*b"}},
		{"\\?\\[\\]\\\\", []string{"?[]\\"}, []string{"a[]\\"}},
		{"*\\**", []string{"*", "a*", "a*b"}, []string{"ab"}},
		{"[\\]a]", []string{"]", "a"}, []string{"\\", "\\]"}},
		{"[\\^a]", []string{"^", "a"}, []string{"b"}},
		{"[a^]", []string{"^", "a"}, []string{"b"}},
		{"[-a]", []string{"-", "a"}, []string{"b"}},
		{"[*?[]", []string{"*", "?", "["}, []string{"a"}},
		{"*[0-9]", []string{"1", "x12"}, []string{"1x", "x"}},
		{"[^a-cx]*", []string{"d", "day"}, []string{"a", "b", "x", "xd"}},
		{"a\x00*", []string{"a\x00", "a\x00b"}, []string{"a", "ab"}},
		{"[\x80-\xff]", []string{"\x80", "\xc3", "\xff"}, []string{"a", "\x7f"}},
		{"]", []string{"]"}, []string{"a"}},
		// Malformed patterns.
		{"a\\", []string{"a\\"}, []string{"a", "ab"}},
		{"\\", []string{"\\"}, []string{"a"}},
		{"[", nil, []string{"", "[", "a"}},
		{"[a", []string{"a"}, []string{"[a", "b", "aa"}},
		{"[^", []string{"a", "^"}, []string{"", "ab"}},
		{"[^a", []string{"b"}, []string{"a"}},
		{"[]", nil, []string{"", "]", "a"}},
		{"[]a]", nil, []string{"]", "a", "]a]"}}, // an empty set and two letters
		{"[^]", []string{"a", "]"}, []string{""}},
		{"[^]a", []string{"xa"}, []string{"a"}},
		{"[a-", []string{"a", "-"}, []string{"b"}},
		{"[a-]", []string{"a", "]", "_"}, []string{"-", "b"}}, // a range up to the bracket, and no end of the set
		{"[a-]b]", []string{"a", "b", "^"}, []string{"-", "ab]"}},
		{"[a\\", []string{"a", "\\"}, []string{"b"}},
		{"[\\", []string{"\\"}, []string{"["}},
		{"x[a-c", []string{"xa", "xb", "xc"}, []string{"xd", "x"}},
		{"[a-\xff]", []string{"a", "\x01", "\xff"}, []string{"b", "\x80"}}, // signed bytes: from -1 to 97
	} {
		for _, s := range c.fits {
			if !Match([]byte(c.pattern), []byte(s), false) {
				t.Errorf("%q does not fit %q", s, c.pattern)
			}
		}
		for _, s := range c.misses {
			if Match([]byte(c.pattern), []byte(s), false) {
				t.Errorf("%q fits %q", s, c.pattern)
			}
		}
	}
}

func TestMatchFold(t *testing.T) {
	for _, c := range []struct {
		pattern string
		fits    []string
		misses  []string
	}{
		{"MaxMemory*", []string{"maxmemory", "MAXMEMORY-policy"}, []string{"minmemory"}},
		{"*PORT", []string{"port", "tls-Port"}, []string{"ports"}},
		{"[A-C]x", []string{"ax", "BX"}, []string{"dx"}},
		{"[x]", []string{"X", "x"}, []string{"y"}},
		{"\\A", []string{"a", "A"}, []string{"\\a"}},
		{"[\\A]", []string{"A"}, []string{"a"}}, // behind a backslash in a set there is no folding
		{"\xc4", []string{"\xc4"}, []string{"\xe4"}},
		{"[\x80-\xfe]", []string{"\x80", "\xfe"}, []string{"a", "\xff"}},
		{"@`", []string{"@`"}, []string{"``", "@@"}},
	} {
		for _, s := range c.fits {
			if !Match([]byte(c.pattern), []byte(s), true) {
				t.Errorf("%q does not fit %q", s, c.pattern)
			}
		}
		for _, s := range c.misses {
			if Match([]byte(c.pattern), []byte(s), true) {
				t.Errorf("%q fits %q", s, c.pattern)
			}
		}
	}
}

// slowMatch tries everything: reach[at] tells whether the pattern so far fits the first at bytes.
func slowMatch(pattern, s []byte, fold bool) bool {
	if len(s) == 0 {
		return len(pattern) == 0
	}
	reach := make([]bool, len(s)+1)
	reach[0] = true
	for p := 0; p < len(pattern); {
		after := make([]bool, len(s)+1)
		if pattern[p] == '*' {
			any := false
			for at := range reach {
				any = any || reach[at]
				after[at] = any
			}
			p++
		} else {
			next := p
			for at, c := range s {
				// The length of an element does not depend on the byte, so one of these two tells it.
				for _, b := range []byte{c, ^c} {
					if end := element(pattern, p, b, fold); end != mismatch {
						next = end
					}
				}
				after[at+1] = reach[at] && element(pattern, p, c, fold) != mismatch
			}
			if next == p {
				return false
			}
			p = next
		}
		reach = after
	}
	return reach[len(s)]
}

func TestMatchAgainstModel(t *testing.T) {
	pattern := rapid.SliceOfN(rapid.SampledFrom([]byte("***??[]^-\\abcABC\x80\xff")), 0, 14)
	s := rapid.SliceOfN(rapid.SampledFrom([]byte("aabbcABC-]\\\x80\xff")), 0, 14)
	few := rapid.SliceOfN(rapid.SampledFrom([]byte("**ab?")), 0, 14)
	two := rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 0, 20)
	rapid.Check(t, func(t *rapid.T) {
		p, text := pattern.Draw(t, "pattern"), s.Draw(t, "text")
		if rapid.Bool().Draw(t, "few letters") {
			p, text = few.Draw(t, "pattern"), two.Draw(t, "text")
		}
		fold := rapid.Bool().Draw(t, "fold")
		if got, want := Match(p, text, fold), slowMatch(p, text, fold); got != want {
			t.Fatalf("Match(%q, %q, %v) = %v", p, text, fold, got)
		}
	})
}

// c188, and worse: what grows with a power of the number of stars never ends here.
func TestMatchIsNotExponential(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
	}{
		{strings.Repeat("a*", 20) + "b", strings.Repeat("a", 60)},
		{strings.Repeat("a*", 500) + "b", strings.Repeat("a", 100000)},
		{strings.Repeat("*a", 500) + "b", strings.Repeat("a", 100000)},
		{strings.Repeat("*[a]?", 200) + "b", strings.Repeat("a", 20000)},
		{strings.Repeat("*", 100000) + "b", strings.Repeat("a", 100000)},
		{"*" + strings.Repeat("a", 200) + "b", strings.Repeat("a", 20000)},
	} {
		for _, fold := range []bool{false, true} {
			if Match([]byte(c.pattern), []byte(c.s), fold) {
				t.Errorf("%.30q fits", c.pattern)
			}
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add([]byte("h[^a-e]*l\\?o"), []byte("hxlll?o"), false)
	f.Add([]byte("[a-"), []byte("-"), true)
	f.Fuzz(func(t *testing.T, pattern, s []byte, fold bool) {
		if len(pattern) > 200 || len(s) > 200 {
			return
		}
		if got, want := Match(pattern, s, fold), slowMatch(pattern, s, fold); got != want {
			t.Fatalf("Match(%q, %q, %v) = %v", pattern, s, fold, got)
		}
		if !bytes.ContainsAny(pattern, "*?[\\") && !fold && Match(pattern, s, false) != bytes.Equal(pattern, s) {
			t.Fatalf("%q is plain", pattern)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, c := range []struct {
		name, pattern, s string
	}{
		{"prefix", "user:*", "user:0000012345:name"},
		{"infix", "*:12345:*", "user:0000012345:name"},
		{"suffix", "*:name", "user:0000012345:name"},
		{"miss", "session:*", "user:0000012345:name"},
	} {
		b.Run(c.name, func(b *testing.B) {
			pattern, s := []byte(c.pattern), []byte(c.s)
			b.ReportAllocs()
			for b.Loop() {
				Match(pattern, s, false)
			}
		})
	}
}
