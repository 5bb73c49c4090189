package resp

import (
	"math"
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		got          func(dst []byte, v Version) []byte
		resp2, resp3 string
	}{
		{func(d []byte, _ Version) []byte { return AppendSimple(d, "OK") }, "+OK\r\n", "+OK\r\n"},
		{func(d []byte, _ Version) []byte { return AppendSimple(d, "a\r\nb") }, "+a  b\r\n", "+a  b\r\n"},
		{func(d []byte, _ Version) []byte { return AppendError(d, "ERR a\r\n:1\r\nb") }, "-ERR a  :1  b\r\n", "-ERR a  :1  b\r\n"},
		{func(d []byte, _ Version) []byte { return AppendError(d, "ERR Protocol error: expected '$', got '\r'") },
			"-ERR Protocol error: expected '$', got ' '\r\n", "-ERR Protocol error: expected '$', got ' '\r\n"}, // c179c
		{func(d []byte, _ Version) []byte { return AppendInt(d, 0) }, ":0\r\n", ":0\r\n"},
		{func(d []byte, _ Version) []byte { return AppendInt(d, 42) }, ":42\r\n", ":42\r\n"},
		{func(d []byte, _ Version) []byte { return AppendInt(d, -1) }, ":-1\r\n", ":-1\r\n"},
		{func(d []byte, _ Version) []byte { return AppendInt(d, 100) }, ":100\r\n", ":100\r\n"},
		{func(d []byte, _ Version) []byte { return AppendInt(d, math.MinInt64) }, ":-9223372036854775808\r\n",
			":-9223372036854775808\r\n"},
		{func(d []byte, _ Version) []byte { return AppendBulk(d, []byte("a\r\n\x00")) }, "$4\r\na\r\n\x00\r\n", "$4\r\na\r\n\x00\r\n"},
		{func(d []byte, _ Version) []byte { return AppendBulk(d, nil) }, "$0\r\n\r\n", "$0\r\n\r\n"},
		{func(d []byte, _ Version) []byte { return AppendBulkString(d, "0123456789") }, "$10\r\n0123456789\r\n", "$10\r\n0123456789\r\n"},
		{func(d []byte, _ Version) []byte { return AppendBulkInt(d, math.MinInt64) }, "$20\r\n-9223372036854775808\r\n",
			"$20\r\n-9223372036854775808\r\n"},
		{func(d []byte, _ Version) []byte { return AppendBulkLen(d, 536870912) }, "$536870912\r\n", "$536870912\r\n"},
		{func(d []byte, _ Version) []byte { return AppendArray(d, 99) }, "*99\r\n", "*99\r\n"},
		{func(d []byte, v Version) []byte { return AppendMap(d, v, 50) }, "*100\r\n", "%50\r\n"},
		{func(d []byte, v Version) []byte { return AppendSet(d, v, 3) }, "*3\r\n", "~3\r\n"},
		{func(d []byte, v Version) []byte { return AppendPush(d, v, 3) }, "*3\r\n", ">3\r\n"},
		{func(d []byte, v Version) []byte { return AppendAttribute(d, 1) }, "|1\r\n", "|1\r\n"},
		{AppendNull, "$-1\r\n", "_\r\n"},
		{AppendNullArray, "*-1\r\n", "_\r\n"},
		{func(d []byte, v Version) []byte { return AppendBool(d, v, true) }, ":1\r\n", "#t\r\n"},
		{func(d []byte, v Version) []byte { return AppendBool(d, v, false) }, ":0\r\n", "#f\r\n"},
		{func(d []byte, v Version) []byte { return AppendDouble(d, v, 1.1) }, "$3\r\n1.1\r\n", ",1.1\r\n"},
		{func(d []byte, v Version) []byte { return AppendDouble(d, v, -1e-300) }, "$7\r\n-1e-300\r\n", ",-1e-300\r\n"},
		{func(d []byte, v Version) []byte { return AppendDouble(d, v, math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
		{func(d []byte, v Version) []byte { return AppendDouble(d, v, math.NaN()) }, "$3\r\nnan\r\n", ",nan\r\n"},
		{func(d []byte, v Version) []byte { return AppendBigNumber(d, v, "-123") }, "$4\r\n-123\r\n", "(-123\r\n"},
		{func(d []byte, v Version) []byte { return AppendVerbatim(d, v, "txt", "a\r\nb") }, "$4\r\na\r\nb\r\n", "=8\r\ntxt:a\r\nb\r\n"},
		{func(d []byte, _ Version) []byte { return AppendCommand(d, []byte("GET"), []byte("")) }, "*2\r\n$3\r\nGET\r\n$0\r\n\r\n",
			"*2\r\n$3\r\nGET\r\n$0\r\n\r\n"},
	} {
		if got := string(c.got([]byte("x"), RESP2)); got != "x"+c.resp2 {
			t.Errorf("RESP2: %q, want %q", got, c.resp2)
		}
		if got := string(c.got([]byte("x"), RESP3)); got != "x"+c.resp3 {
			t.Errorf("RESP3: %q, want %q", got, c.resp3)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	room := make([]byte, 0, 256)
	value := []byte(strings.Repeat("x", 32))
	for name, run := range map[string]func(){
		"simple": func() { AppendSimple(room, "OK") },
		"error":  func() { AppendError(room, "ERR syntax error") },
		"int":    func() { AppendInt(room, math.MaxInt64) },
		"bulk":   func() { AppendBulk(room, value) },
		"number": func() { AppendBulkInt(room, math.MaxInt64) },
		"array":  func() { AppendArray(room, 1000) },
		"map":    func() { AppendMap(room, RESP2, 1000) },
		"null":   func() { AppendNull(room, RESP3) },
		"double": func() { AppendDouble(room, RESP2, 1.1); AppendDouble(room, RESP3, 1e300) },
		"text":   func() { AppendVerbatim(room, RESP3, "txt", "hello") },
	} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	room := make([]byte, 0, 256)
	value := []byte(strings.Repeat("x", 32))
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"ok", func() { AppendSimple(room, "OK") }},
		{"int", func() { AppendInt(room, 12345) }},
		{"bulk32", func() { AppendBulk(room, value) }},
		{"bulkint", func() { AppendBulkInt(room, 1234567) }},
		{"double", func() { AppendDouble(room, RESP2, 1.1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.run()
			}
		})
	}
}
