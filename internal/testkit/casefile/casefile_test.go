package casefile

import (
	"strings"
	"testing"
	"time"
)

const example = `# Comment.

case c1 [single] first one
  SET k "a\r\n"+"b"*3      => +OK
  @2b !BLPOP k 0
  @2b ?                    => ["k" "<p0>"] | nil
  @b quiet
  blocked 2
  pause 50ms
  PING
  raw "*1\r\n$" "1"*4
    -ERR a, b
    ping

case c2 [C3] second one
  @1 closed
`

func TestParse(t *testing.T) {
	cases, err := Parse("section", example)
	if err != nil || len(cases) != 2 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	c := cases[0]
	if c.ID != "c1" || c.Topology != "single" || c.Title != "first one" || c.File != "section" || len(c.Steps) != 8 {
		t.Fatalf("%+v", c)
	}
	set, send, read, raw := c.Steps[0], c.Steps[1], c.Steps[2], c.Steps[7]
	if set.Verb != Do || set.Args[2] != "a\r\nbbb" || set.Want != "+OK" || set.Conn != "a" || set.Line != 4 {
		t.Errorf("%+v", set)
	}
	if send.Verb != Send || send.Node != 2 || send.Conn != "b" || send.Args[0] != "BLPOP" {
		t.Errorf("%+v", send)
	}
	if read.Verb != Read || read.Args != nil || read.Want != `["k" "<p0>"] | nil` {
		t.Errorf("%+v", read)
	}
	if c.Steps[3].Verb != Quiet || c.Steps[4].Count != 2 || c.Steps[5].Pause != 50*time.Millisecond || c.Steps[6].Want != "any" {
		t.Errorf("%+v", c.Steps)
	}
	if string(raw.Bytes) != "*1\r\n$1111" || len(raw.Replies) != 1 || raw.End != "ping" {
		t.Errorf("%+v", raw)
	}
	if closed := cases[1].Steps[0]; closed.Verb != Closed || closed.Node != 1 {
		t.Errorf("%+v", closed)
	}
}

func TestParseRefuses(t *testing.T) {
	head := "case c1 [single] title\n"
	for _, text := range []string{
		"  PING", "nonsense", "case c1 title", head + "    +OK", head + "  PING\n    +OK", head + "  GET k => [:1",
		head + `  GET "k`, head + `  GET "k"x`, head + "  @b quiet now", head + "  blocked x", head + "  pause x",
		head + "  !PING => +PONG", head + "  raw \"x\"\n    open\n    +OK", head + "  @b  ",
	} {
		if cases, err := Parse("f", text); err == nil {
			t.Errorf("%q was read as %+v", text, cases)
		} else if !strings.HasPrefix(err.Error(), "f.txt:") {
			t.Errorf("error without place: %v", err)
		}
	}
}

func TestExpected(t *testing.T) {
	failures, err := parseExpected("f", "# no\n\nneeds lists: a b\nold: text: c?\n")
	if err != nil || len(failures) != 3 || failures["b"] != (Failure{Reason: "needs lists"}) || failures["c"] != (Failure{"old: text", true}) {
		t.Errorf("%v %v", failures, err)
	}
	for _, text := range []string{"a b", "x: a\ny: a"} {
		if _, err := parseExpected("f", text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if failures, err := ReadExpected("nosuch"); len(failures) != 0 || err != nil {
		t.Errorf("%v %v", failures, err)
	}
}
