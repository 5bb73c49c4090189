package command

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit/reply"
)

func TestListPushAndPop(t *testing.T) {
	h := newHarness(t)
	h.script(`
		LPUSHX l a -> :0
		RPUSH l a b c -> :3
		LPUSH l x -> :4
		LRANGE l 0 -1 -> ["x" "a" "b" "c"]
		LPOP l -> "x"
		RPOP l 2 -> ["c" "b"]
		RPOP l 0 -> []
		RPOP l -> "a"
		EXISTS l -> :0
		LPOP l -> nil
		LPOP l 3 -> nil*
		LPOP l 1 2 -> -ERR wrong number of arguments for 'lpop' command
		LPOP l -1 -> -ERR value is out of range, must be positive
		SET s v
		LPUSH s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
	`)
}

// A list changes its encoding where that of redis-server does.
func TestListEncodings(t *testing.T) {
	h := newHarness(t)
	h.script(`
		RPUSH l a
		OBJECT ENCODING l -> "listpack"
	`)
	big := strings.Repeat("x", 4000)
	h.args("RPUSH", "l", big, big, big)
	h.script(`
		OBJECT ENCODING l -> "quicklist"
		RPOP l
		RPOP l
		OBJECT ENCODING l -> "listpack"
		LINSERT l BEFORE none none -> :-1
		OBJECT ENCODING l -> "listpack"
		LLEN l -> :2
	`)
	h.args("LINSERT", "l", "BEFORE", "none", big+big)
	h.want("OBJECT ENCODING l", `"quicklist"`)
	h.want("LSET l 1 small", "+OK")
	h.want("OBJECT ENCODING l", `"listpack"`)
	h.want("LRANGE l 0 -1", `["a" "small"]`)
}

// What the log says has to be done is what a replica can repeat.
func TestListEffects(t *testing.T) {
	h := newHarness(t)
	h.do("SELECT 0")
	h.effects()
	for _, step := range []struct{ command, effect string }{
		{"RPUSH l a b c d e f", "RPUSH l a b c d e f"},
		{"LMPOP 2 none l RIGHT COUNT 2", "RPOP l 2"},
		{"LMPOP 1 l LEFT COUNT 100", "LPOP l 4"},
		{"RPUSH l 1 2 3 4", "RPUSH l 1 2 3 4"},
		{"BLPOP no l 0", "LPOP l"},
		{"BRPOP l 0", "RPOP l"},
		{"BLMOVE l {l}2 LEFT RIGHT 0", "LMOVE l {l}2 LEFT RIGHT"},
		{"BRPOPLPUSH l {l}2 0", "RPOPLPUSH l {l}2"},
		{"BLMPOP 0 1 {l}2 LEFT", "LPOP {l}2 1"},
		{"LTRIM {l}2 0 -1", ""},
		{"LREM {l}2 0 none", ""},
		{"LPOP {l}2", "LPOP {l}2"},
		{"RPUSH l 3 1 2", "RPUSH l 3 1 2"},
		{"SORT l STORE d", "SORT l STORE d"},
		{"SORT none STORE none", ""},
		{"SORT none STORE d", "SORT none STORE d"},
	} {
		h.do(step.command)
		got := h.effects()
		for len(got) > 0 && strings.HasPrefix(got[0], "SELECT") {
			got = got[1:]
		}
		if strings.Join(got, "; ") != step.effect {
			t.Errorf("%s: logged %q, want %q", step.command, got, step.effect)
		}
	}
}

// A client that waits gets an element when there is one, in the order of arrival.
func TestBlockingPops(t *testing.T) {
	h := newHarness(t)
	first, second, third := h.client(), h.client(), h.client()
	first.send("BLPOP", "no", "l", "0")
	second.send("BLMOVE", "l", "d", "LEFT", "RIGHT", "0")
	third.send("BLMPOP", "0", "2", "no", "l", "RIGHT", "COUNT", "10")
	h.want("RPUSH l a b c d", ":4")
	if v := first.read(); len(v.Items) != 2 || v.Items[0].Text != "l" || v.Items[1].Text != "a" {
		t.Errorf("BLPOP: %v", v)
	}
	if v := second.read(); v.Text != "b" {
		t.Errorf("BLMOVE: %v", v)
	}
	if v := third.read(); len(v.Items) != 2 || len(v.Items[1].Items) != 2 || v.Items[1].Items[0].Text != "d" {
		t.Errorf("BLMPOP: %v", v)
	}
	h.want("LRANGE d 0 -1", `["b"]`)
	h.want("EXISTS l", ":0")
	h.script(`
		MULTI
		BLPOP l 0 -> +QUEUED
		BLMOVE l d LEFT LEFT 0 -> +QUEUED
		EXEC -> [nil* nil]
	`)
}

// Lists of many nodes stay what they are through DUMP, RESTORE, COPY and RENAME.
func TestBigListTravels(t *testing.T) {
	h := newDebugHarness(t, Deps{})
	args := []string{"RPUSH", "l"}
	for i := range 5000 {
		args = append(args, fmt.Sprintf("element:%d", i*i))
	}
	h.args(args...)
	h.args("LINSERT", "l", "AFTER", "element:1000000", strings.Repeat("big", 10000))
	want := h.do("DEBUG DIGEST-VALUE l").Items[0].Text
	dump := h.do("DUMP l")
	h.args("RESTORE", "r", "0", dump.Text)
	h.script(`
		COPY l {l}c -> :1
		COPY l c -> :1
		RENAME l elsewhere -> +OK
	`)
	for _, k := range []string{"r", "{l}c", "c", "elsewhere"} {
		if got := h.args("DEBUG", "DIGEST-VALUE", k).Items[0].Text; got != want {
			t.Errorf("%s is another list", k)
		}
		h.want("OBJECT ENCODING "+k, `"quicklist"`)
		if v := h.args("LINDEX", k, "1001"); len(v.Text) != 30000 {
			t.Errorf("%s: the long element has %d bytes", k, len(v.Text))
		}
		if v := h.args("MEMORY", "USAGE", k); v.Int < 80000 || v.Int > 200000 {
			t.Errorf("%s takes %d bytes", k, v.Int)
		}
	}
}

// Of a long list, little may be kept; what is not is freed later.
func TestLTrimOfALongList(t *testing.T) {
	h := newHarness(t)
	const n = 150000
	for i := 0; i < n; i += 1000 {
		args := []string{"RPUSH", "l"}
		for j := range 1000 {
			args = append(args, strconv.Itoa(i+j))
		}
		h.args(args...)
	}
	h.script(`
		EXPIRE l 1000
		LTRIM l 100000 100003 -> +OK
		LRANGE l 0 -1 -> ["100000" "100001" "100002" "100003"]
		OBJECT ENCODING l -> "listpack"
		TTL l -> :1000
		RPUSH l x -> :5
		RPOP l 10 -> ["x" "100003" "100002" "100001" "100000"]
		EXISTS l -> :0
	`)
}

// A random walk over the elements of a list of many nodes.
func TestLPosAndLRem(t *testing.T) {
	h := newHarness(t)
	args := []string{"RPUSH", "l"}
	for i := range 9000 {
		args = append(args, strconv.Itoa(i%100))
	}
	h.args(args...)
	h.script(`
		LPOS l 7 -> :7
		LPOS l 7 RANK 3 -> :207
		LPOS l 7 RANK -1 -> :8907
		LPOS l 7 RANK -2 COUNT 2 -> [:8807 :8707]
		LPOS l 7 COUNT 0 MAXLEN 250 -> [:7 :107 :207]
		LPOS l none -> nil
		LPOS l none COUNT 0 -> []
		LREM l 2 7 -> :2
		LPOS l 7 -> :205
		LREM l -1 99 -> :1
		LREM l 0 50 -> :90
		LLEN l -> :8907
	`)
	if v := h.do("LPOS l 7 COUNT 0"); v.Kind != reply.Array || len(v.Items) != 88 {
		t.Errorf("%d matches", len(v.Items))
	}
}

func TestSortStoresOntoItself(t *testing.T) {
	h := newHarness(t)
	h.script(`
		RPUSH l 3 1 2
		EXPIRE l 100
		SORT l DESC STORE l -> :3
		LRANGE l 0 -1 -> ["3" "2" "1"]
		TTL l -> :-1
		SADD s b c a
		SORT s BY nosort STORE l -> :3
		LRANGE l 0 -1 -> ["a" "b" "c"]
		SORT l -> -ERR One or more scores can't be converted into double
		SORT l ALPHA LIMIT 1 1 -> ["b"]
		MULTI
		SET w_a 3
		SET w_b 1
		SORT l BY w_* GET # GET w_*
		EXEC -> [+OK +OK ["c" nil "b" "1" "a" "3"]]
	`)
}
