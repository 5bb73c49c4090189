package command

import (
	"fmt"
	"strings"
	"testing"
)

// longReply is a number of elements whose reply is in several pieces.
const longReply = 70_000

// fillLong makes a list, a set, a sorted set and streams of many elements.
func fillLong(c *testClient) {
	for i := 0; i < longReply; i += 1000 {
		list, set, zset := []string{"RPUSH", "l"}, []string{"SADD", "s"}, []string{"ZADD", "z"}
		for j := i; j < i+1000; j++ {
			e := fmt.Sprintf("element:%06d", j)
			list, set, zset = append(list, e), append(set, e), append(zset, fmt.Sprint(j), e)
		}
		list = append(list, strings.Repeat("long", 5000)) // replied by itself
		c.args(list...)
		c.args(set...)
		c.args(zset...)
	}
	for i := range 3000 {
		c.args("XADD", "x1{t}", fmt.Sprint(i+1, "-1"), "f", strings.Repeat("v", 200))
		c.args("XADD", "x2{t}", fmt.Sprint(i+1, "-1"), "f", strings.Repeat("w", 200))
	}
}

// TestLongReplies says that replies of many elements, which are kept in pieces, are whole.
func TestLongReplies(t *testing.T) {
	h := newHarness(t)
	c := h.client()
	fillLong(c)
	for first := range 2 {
		line := fmt.Sprintf("LRANGE l %d -1", first)
		got := c.do(line).Items
		if len(got) != longReply+longReply/1000-first {
			t.Fatalf("%s: %d elements", line, len(got))
		}
		for i := 0; i < len(got); i += 997 {
			if want := c.args("LINDEX", "l", fmt.Sprint(first+i)).Text; got[i].Text != want {
				t.Fatalf("%s: element %d is %.40q, not %.40q", line, i, got[i].Text, want)
			}
		}
	}
	for _, line := range []string{"SMEMBERS s", "ZRANGE z 0 -1", "ZRANGE z 0 -1 REV"} {
		seen := map[string]bool{}
		for _, e := range c.do(line).Items {
			seen[e.Text] = true
		}
		if len(seen) != longReply {
			t.Errorf("%s: %d different elements, not %d", line, len(seen), longReply)
		}
	}
	if scan := c.do("SSCAN s 0 COUNT 1000000").Items; len(scan) != 2 || len(scan[1].Items) != longReply {
		t.Errorf("SSCAN: %d parts", len(scan))
	}
	c.do("XGROUP CREATE x1{t} g 0")
	c.do("XGROUP CREATE x2{t} g 0")
	for _, line := range []string{"XREAD STREAMS x1{t} x2{t} 0 0", "XREADGROUP GROUP g c STREAMS x1{t} x2{t} > >"} {
		for i, s := range c.do(line).Items {
			if len(s.Items) != 2 || len(s.Items[1].Items) != 3000 {
				t.Errorf("%s: stream %d has %d parts", line, i, len(s.Items))
			}
		}
	}
	c.want("PING", "+PONG")
}
