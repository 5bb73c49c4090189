package reply

import (
	"bufio"
	"strings"
	"testing"
)

func TestReadAndString(t *testing.T) {
	for _, c := range []struct{ wire, text string }{
		{"+OK\r\n", "+OK"},
		{"-ERR no\r\n", "-ERR no"},
		{":-5\r\n", ":-5"},
		{"$3\r\na\r\n\r\n", `"a\r\n"`},
		{"$-1\r\n", "nil"},
		{"*-1\r\n", "nil*"},
		{"_\r\n", "null"},
		{"*2\r\n$1\r\na\r\n*1\r\n:1\r\n", `["a" [:1]]`},
		{"%1\r\n+a\r\n#t\r\n", "{+a=#t}"},
		{"~1\r\n,1.5\r\n", "~[,1.5]"},
		{">1\r\n(123\r\n", ">[(123]"},
		{"=7\r\ntxt:a\x00b\r\n", `="txt:a\x00b"`},
		{"|1\r\n+ttl\r\n:1\r\n+OK\r\n", "+OK"},
	} {
		v, err := Read(bufio.NewReader(strings.NewReader(c.wire)))
		if err != nil || v.String() != c.text {
			t.Errorf("%q: got %v %v, want %s", c.wire, v, err, c.text)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, wire := range []string{
		"", "+OK", "+OK\n", "\r\n", ":x\r\n", "$-2\r\n", "$2\r\nabc\r\n", "*-2\r\n", "#x\r\n", "_x\r\n", "!1\r\n", "*1\r\n",
		strings.Repeat("*1\r\n", depthMax+2),
	} {
		if v, err := Read(bufio.NewReader(strings.NewReader(wire))); err == nil {
			t.Errorf("%.20q was read as %v", wire, v)
		}
	}
}

// patternCases says of each pattern whether it matches what came over the wire, or is broken.
func patternCases() []struct{ pattern, wire, right string } {
	id := strings.Repeat("0123456789abcdef", 3)[:40]
	return []struct{ pattern, wire, right string }{
		{"+OK", "+OK\r\n", "yes"},
		{"+OK", "$2\r\nOK\r\n", "no"},
		{"-ERR a, b | c", "-ERR a, b\r\n", "broken"},
		{"-ERR a, b", "-ERR a, b\r\n", "yes"},
		{"-ERR...", "-ERR a\r\n", "yes"},
		{"-ERR...", "-ERRA\r\n", "yes"},
		{"-ERR x...", "-ERR a\r\n", "no"},
		{`-"ERR a "`, "-ERR a \r\n", "yes"},
		{`-"ERR a "...`, "-ERR a |b\r\n", "yes"},
		{"-ERR a | +OK", "+OK\r\n", "yes"},
		{"-ERR (P|S)SUB only", "-ERR (P|S)SUB only\r\n", "yes"},
		{"-MOVED <n> <*>:7001", "-MOVED 12182 127.0.0.1:7001\r\n", "yes"},
		{"-MOVED <n> <*>:7001", "-MOVED x 127.0.0.1:7001\r\n", "no"},
		{`"<id>"`, "$40\r\n" + id + "\r\n", "yes"},
		{`"<id>"`, "$1\r\na\r\n", "no"},
		{":<n>", ":-1\r\n", "yes"},
		{":1", ":2\r\n", "no"},
		{`"ab"*2`, "$4\r\nabab\r\n", "yes"},
		{"nil", "*-1\r\n", "no"},
		{"nil | nil*", "*-1\r\n", "yes"},
		{`[+OK :0 "x" []]`, "*4\r\n+OK\r\n:0\r\n$1\r\nx\r\n*0\r\n", "yes"},
		{`["a" | nil :1]`, "*2\r\n$-1\r\n:1\r\n", "yes"},
		{`[:1 ...]`, "*2\r\n:1\r\n:2\r\n", "yes"},
		{`[:1]`, "*2\r\n:1\r\n:2\r\n", "no"},
		{`[:2 :1] (any order)`, "*2\r\n:1\r\n:2\r\n", "yes"},
		{`[:2 :2] (any order)`, "*2\r\n:1\r\n:2\r\n", "no"},
		{`~["a"]`, "~1\r\n$1\r\na\r\n", "yes"},
		{`["a"]`, "~1\r\n$1\r\na\r\n", "no"},
		{`>["invalidate" null]`, ">2\r\n$10\r\ninvalidate\r\n_\r\n", "yes"},
		{`{"f"="v" "n"=:2}`, "%2\r\n$1\r\nn\r\n:2\r\n$1\r\nf\r\n$1\r\nv\r\n", "yes"},
		{`{}`, "%0\r\n", "yes"},
		{`[["m" ,1.5]]`, "*1\r\n*2\r\n$1\r\nm\r\n,1.5\r\n", "yes"},
		{`#t`, "#t\r\n", "yes"},
		{`="txt:<*>"`, "=5\r\ntxt:a\r\n", "yes"},
		{`array & len(2)`, "*2\r\n:1\r\n:2\r\n", "yes"},
		{`array & len(>2)`, "*2\r\n:1\r\n:2\r\n", "no"},
		{`at(0 :1 | :3)`, "*2\r\n:1\r\n:2\r\n", "yes"},
		{`at(2 :1)`, "*2\r\n:1\r\n:2\r\n", "no"},
		{`field("k" "v")`, "*2\r\n$1\r\nk\r\n$1\r\nv\r\n", "yes"},
		{`has("a" "b")`, "$3\r\nabc\r\n", "yes"},
		{`has("a" "d")`, "$3\r\nabc\r\n", "no"},
		{`lacks("d")`, "$3\r\nabc\r\n", "yes"},
		{`holds(:2) & not holds(:3)`, "*2\r\n:1\r\n:2\r\n", "yes"},
		{`lacking(:2)`, "*2\r\n:1\r\n:2\r\n", "no"},
		{`each([:<n>])`, "*2\r\n*1\r\n:1\r\n*1\r\n:2\r\n", "yes"},
		{`int(>0)`, ":1\r\n", "yes"},
		{`float(>18e6)`, "$4\r\n19e6\r\n", "yes"},
		{`matches("^a\\d$")`, "$2\r\na1\r\n", "yes"},
		{`+OK +OK`, "+OK +OK\r\n", "yes"},
		{`[+OK`, "", "broken"},
		{`"a`, "", "broken"},
		{`:x`, "", "broken"},
		{`nosuch`, "", "broken"},
		{`nosuch(1)`, "", "broken"},
		{`[:1] :2`, "", "broken"},
		{`len(=>1)`, "", "broken"},
		{``, "", "broken"},
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range patternCases() {
		p, err := Parse(c.pattern)
		if (err != nil) != (c.right == "broken") {
			t.Errorf("%s: %v", c.pattern, err)
		}
		if err != nil {
			continue
		}
		v, err := Read(bufio.NewReader(strings.NewReader(c.wire)))
		if err != nil {
			t.Errorf("%q: %v", c.wire, err)
		}
		if p.Matches(v) != (c.right == "yes") {
			t.Errorf("%s against %v: want %s", c.pattern, v, c.right)
		}
	}
}

func TestQuoteRoundTrip(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	text, n, err := Unquote(Quote(string(all)) + "rest")
	if err != nil || text != string(all) || n != len(Quote(string(all))) {
		t.Errorf("got %q %d %v", text, n, err)
	}
	for _, broken := range []string{`abc`, `"abc`, `"\q"`, `"\x1"`, `"\`} {
		if text, _, err := Unquote(broken); err == nil {
			t.Errorf("%s was read as %q", broken, text)
		}
	}
}
