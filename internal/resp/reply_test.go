package resp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// show writes a reply in one line.
func show(v Value) string {
	switch v.Kind {
	case Null, NullArray:
		return string(v.Kind)
	case Integer, Bool:
		return fmt.Sprintf("%c%d", v.Kind, v.Int)
	case Double:
		return fmt.Sprintf(",%v", v.Double)
	case Array, Map, Set, Push:
		var parts []string
		for _, e := range v.Elems {
			parts = append(parts, show(e))
		}
		return string(v.Kind) + "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprintf("%c%q", v.Kind, v.Str)
}

func TestParseReply(t *testing.T) {
	for wire, want := range map[string]string{
		"+OK\r\n":                              `+"OK"`,
		"+\r\n":                                `+""`,
		"-ERR no\r\n":                          `-"ERR no"`,
		":-5\r\n":                              ":-5",
		"$3\r\na\r\n\r\n":                      `$"a\r\n"`,
		"$0\r\n\r\n":                           `$""`,
		"$-1\r\n":                              "_",
		"*-1\r\n":                              "N",
		"*0\r\n":                               "*[]",
		"*2\r\n*1\r\n:1\r\n$1\r\nx\r\n":        `*[*[:1] $"x"]`,
		"_\r\n":                                "_",
		"#t\r\n":                               "#1",
		"#f\r\n":                               "#0",
		",1.5\r\n":                             ",1.5",
		",-inf\r\n":                            ",-Inf",
		",nan\r\n":                             ",NaN",
		"(-3492890328409238509324850943\r\n":   `("-3492890328409238509324850943"`,
		"!5\r\nERR x\r\n":                      `!"ERR x"`,
		"=8\r\ntxt:a\r\nb\r\n":                 `="a\r\nb"`,
		"=4\r\ntxt:\r\n":                       `=""`,
		"%1\r\n+k\r\n*1\r\n:2\r\n":             `%[+"k" *[:2]]`,
		"~2\r\n:1\r\n:2\r\n":                   "~[:1 :2]",
		">2\r\n+message\r\n$1\r\nx\r\n":        `>[+"message" $"x"]`,
		"|1\r\n+ttl\r\n:3\r\n$1\r\nx\r\n":      `$"x"`,
		"*2\r\n|1\r\n+a\r\n*0\r\n:1\r\n:2\r\n": "*[:1 :2]",
		"|0\r\n|1\r\n:1\r\n|0\r\n:2\r\n_\r\n":  "_",
	} {
		stream := []byte(wire + "+next\r\n")
		for have := range len(wire) {
			if _, n, err := ParseReply(stream[:have]); n != 0 || err != nil {
				t.Errorf("%q: %d, %v", stream[:have], n, err)
			}
		}
		v, n, err := ParseReply(stream)
		if n != len(wire) || err != nil || show(v) != want {
			t.Errorf("%q: %s, %d, %v; want %s", wire, show(v), n, err, want)
		}
		if v.IsError() != (wire[0] == '-' || wire[0] == '!') {
			t.Errorf("%q: error %v", wire, v.IsError())
		}
	}
}

func TestParseReplyErrors(t *testing.T) {
	nested := strings.Repeat("*1\r\n", replyDepthMax)
	for wire, want := range map[string]error{
		"x\r\n":                           errReplyKind,
		"\r\n":                            errReplyKind,
		"N\r\n":                           errReplyKind,
		"PING\r\n":                        errReplyKind,
		"+a\rb\r\n":                       errReplyLine,
		"+a\nb\r\n":                       errReplyLine,
		"+" + strings.Repeat("a", 1<<16):  errReplyLine,
		":\r\n":                           errReplyScalar,
		":1x\r\n":                         errReplyScalar,
		":9223372036854775808\r\n":        errReplyScalar,
		"#x\r\n":                          errReplyScalar,
		"#\r\n":                           errReplyScalar,
		"_x\r\n":                          errReplyScalar,
		",x\r\n":                          errReplyScalar,
		"(\r\n":                           errReplyScalar,
		"(-\r\n":                          errReplyScalar,
		"(1.5\r\n":                        errReplyScalar,
		"$-2\r\n":                         errReplyLength,
		"$x\r\n":                          errReplyLength,
		"$\r\n":                           errReplyLength,
		"$4294967297\r\n":                 errReplyLength,
		"!-1\r\n":                         errReplyLength,
		"=-1\r\n":                         errReplyLength,
		"*-2\r\n":                         errReplyLength,
		"%-1\r\n":                         errReplyLength,
		"~-1\r\n":                         errReplyLength,
		"*2147483648\r\n":                 errReplyLength,
		"*?\r\n":                          errReplyLength, // the streamed forms are in no server
		"$1\r\nabc":                       errReplyEnd,
		"$1\r\na\rx":                      errReplyEnd,
		"=3\r\ntxt\r\n":                   errReplyScalar,
		"=4\r\ntxt=\r\n":                  errReplyScalar,
		nested:                            errReplyDepth,
		"*1\r\n*3\r\n+a\r\n$1\r\nb\r\n:x": nil, // not complete yet
		"*3\r\n:1\r\n:x\r\n":              errReplyScalar,
	} {
		_, n, err := ParseReply([]byte(wire))
		var protocol *ProtocolError
		if n != 0 || err != want || err != nil && !errors.As(err, &protocol) {
			t.Errorf("%.50q: %d, %v; want %v", wire, n, err, want)
		}
	}
	deepest := nested[:4*(replyDepthMax-1)] + "_\r\n"
	if _, n, err := ParseReply([]byte(deepest)); n != len(deepest) || err != nil {
		t.Errorf("the deepest reply: %d, %v", n, err)
	}
}

// Many attributes in a row need no stack.
func TestParseReplyManyAttributes(t *testing.T) {
	stream := append(bytes.Repeat([]byte("|0\r\n"), 1e6), ":1\r\n"...)
	if v, n, err := ParseReply(stream); n != len(stream) || err != nil || v.Int != 1 {
		t.Error(v, n, err)
	}
}

// Announced counts reserve nothing.
func TestParseReplyReservesNothing(t *testing.T) {
	stream := []byte("*2147483647\r\n*2147483647\r\n$4294967296\r\n")
	if n := testing.AllocsPerRun(10, func() { ParseReply(stream) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// appendValue writes a reply as a server of RESP3 does.
func appendValue(dst []byte, v Value) []byte {
	switch v.Kind {
	case Simple:
		return AppendSimple(dst, string(v.Str))
	case Error:
		return AppendError(dst, string(v.Str))
	case Integer:
		return AppendInt(dst, v.Int)
	case Bulk:
		return AppendBulk(dst, v.Str)
	case Null:
		return AppendNull(dst, RESP3)
	case NullArray:
		return AppendNullArray(dst, RESP2)
	case Bool:
		return AppendBool(dst, RESP3, v.Int == 1)
	case Double:
		return AppendDouble(dst, RESP3, v.Double)
	case BigNumber:
		return AppendBigNumber(dst, RESP3, string(v.Str))
	case Verbatim:
		return AppendVerbatim(dst, RESP3, "txt", string(v.Str))
	case Map:
		dst = AppendMap(dst, RESP3, len(v.Elems)/2)
	case Set:
		dst = AppendSet(dst, RESP3, len(v.Elems))
	case Push:
		dst = AppendPush(dst, RESP3, len(v.Elems))
	case Array:
		dst = AppendArray(dst, len(v.Elems))
	case BulkError:
		dst = fmt.Appendf(dst, "!%d\r\n%s\r\n", len(v.Str), v.Str)
	}
	for _, e := range v.Elems {
		dst = appendValue(dst, e)
	}
	return dst
}

// anyValue draws a reply that is at most depth levels deep.
func anyValue(depth int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		kinds := []Kind{Simple, Error, Integer, Bulk, Null, NullArray, Bool, Double, BigNumber, Verbatim, BulkError, Array, Map, Set, Push}
		if depth == 0 {
			kinds = kinds[:len(kinds)-4]
		}
		v := Value{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch v.Kind {
		case Simple, Error:
			v.Str = []byte(rapid.StringMatching("[ -~]*").Draw(t, "line"))
		case Integer:
			v.Int = rapid.Int64().Draw(t, "integer")
		case Bool:
			v.Int = rapid.Int64Range(0, 1).Draw(t, "bool")
		case Double:
			v.Double = rapid.Float64().Draw(t, "double")
		case BigNumber:
			v.Str = []byte(rapid.StringMatching("-?[0-9]+").Draw(t, "number"))
		case Bulk, Verbatim, BulkError:
			v.Str = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		case Array, Set, Push:
			v.Elems = rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "elements")
		case Map:
			v.Elems = rapid.SliceOfN(anyValue(depth-1), 0, 2).Draw(t, "keys")
			v.Elems = append(v.Elems, v.Elems...)
		}
		return v
	})
}

func TestReplyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyValue(3).Draw(t, "value")
		wire := appendValue(nil, want)
		v, n, err := ParseReply(append(wire, '+'))
		if n != len(wire) || err != nil || show(v) != show(want) {
			t.Fatalf("%q: %s, %d, %v; want %s", wire, show(v), n, err, show(want))
		}
		cut := rapid.IntRange(0, len(wire)-1).Draw(t, "cut")
		if _, n, err := ParseReply(wire[:cut]); n != 0 || err != nil {
			t.Fatalf("%q: %d, %v", wire[:cut], n, err)
		}
	})
}

func FuzzParseReply(f *testing.F) {
	for _, seed := range []string{"*2\r\n$1\r\na\r\n%1\r\n+k\r\n,1.5\r\n", "|1\r\n+a\r\n:1\r\n=8\r\ntxt:abcd\r\n", "~1\r\n#t\r\n",
		">1\r\n(12\r\n", "!3\r\nERR\r\n", "$-1\r\n", "*-1\r\n", "_\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		v, n, err := ParseReply(wire)
		if n < 0 || n > len(wire) || n > 0 && err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if n == 0 {
			return
		}
		if _, again, err := ParseReply(wire[:n]); again != n || err != nil {
			t.Fatalf("the reply alone: %d, %v", again, err)
		}
		if n <= 300 {
			for have := range n {
				if _, n, _ := ParseReply(wire[:have]); n != 0 {
					t.Fatalf("%q is a reply, and so is its start of %d bytes", wire, have)
				}
			}
		}
		if show(v) != show(reparse(t, v)) && !math.IsNaN(v.Double) {
			t.Fatalf("%s became %s", show(v), show(reparse(t, v)))
		}
	})
}

// reparse writes a reply and reads it again.
func reparse(t *testing.T, v Value) Value {
	wire := appendValue(nil, v)
	again, n, err := ParseReply(wire)
	if n != len(wire) || err != nil {
		t.Fatalf("%q: %d, %v", wire, n, err)
	}
	return again
}
