package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// Entries are added, cut, read and removed.
func TestStreamBasics(t *testing.T) {
	h := newHarness(t)
	h.script(`
		XADD s 1-1 a 1 b 2 -> "1-1"
		XADD s 1-* a 1 -> "1-2"
		XADD s * a 1 -> "1700000000000-0"
		XADD s * a 1 -> "1700000000000-1"
		XADD s 5 a 1 -> -ERR The ID specified in XADD is equal or smaller than the target stream top item
		XADD s 1-1 a -> -ERR wrong number of arguments for 'xadd' command
		XADD no NOMKSTREAM * a 1 -> nil
		EXISTS no -> :0
		XLEN s -> :4
		OBJECT ENCODING s -> "stream"
		TYPE s -> +stream
		XRANGE s - + COUNT 1 -> [["1-1" ["a" "1" "b" "2"]]]
		XREVRANGE s + (1-2 COUNT 1 -> [["1700000000000-1" ["a" "1"]]]
		XRANGE s (1-1 (1700000000000-0 -> [["1-2" ["a" "1"]]]
		XRANGE s - + COUNT 0 -> nil*
		XRANGE no - + -> []
		XDEL s 1-2 7 -> :1
		XTRIM s MAXLEN 1 -> :2
		XRANGE s - + -> [["1700000000000-1" ["a" "1"]]]
		XTRIM s MINID 2000000000000 -> :1
		EXISTS s -> :1
		XADD s 18446744073709551615-18446744073709551615 a 1
		XADD s * a 1 -> -ERR The stream has exhausted the last possible ID, unable to add more items
		SET str x -> +OK
		XADD str * a 1 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		XREAD STREAMS s str 0 0 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		XLEN str -> -WRONGTYPE Operation against a key holding the wrong kind of value
	`)
}

// What replicas have to do is told without times and chance.
func TestStreamEffects(t *testing.T) {
	h := newHarness(t)
	h.e.Settings.Encoding.StreamNodes.Store(2)
	now := int64(testEpoch)
	h.do("SET str x")
	h.effects()
	h.do("XADD s * a 1")
	h.wantEffects(fmt.Sprintf("XADD s %d-0 a 1", now))
	h.do("XADD s MAXLEN ~ 100 5000000000000-* a 2")
	h.wantEffects("XADD s MAXLEN = 2 5000000000000-0 a 2")
	h.do("XADD s MAXLEN ~ 1 LIMIT 100 5000000000001 a 3")
	h.wantEffects("XADD s MAXLEN = 1 LIMIT 100 5000000000001 a 3")
	h.do("XADD s 5000000000002 a 4")
	h.do("XADD s 5000000000003 a 5")
	h.effects()
	h.do("XTRIM s MINID ~ 5000000000003")
	h.wantEffects("XTRIM s MINID = 5000000000003-0")
	h.do("XTRIM s MINID ~ 5000000000003")
	h.wantEffects()
	h.do("XGROUP CREATE s g 0")
	h.wantEffects("XGROUP CREATE s g 0")
	h.do("XREADGROUP GROUP g c STREAMS s >")
	h.wantEffects("MULTI", fmt.Sprintf("XCLAIM s g c 0 5000000000003-0 TIME %d RETRYCOUNT 1 FORCE JUSTID LASTID 5000000000003-0", now),
		"XGROUP SETID s g 5000000000003-0 ENTRIESREAD 5", "EXEC")
	h.do("XADD s 5000000000004 a 6")
	h.effects()
	h.do("XREADGROUP GROUP g d NOACK STREAMS s >")
	h.wantEffects("MULTI", "XGROUP CREATECONSUMER s g d", "XGROUP SETID s g 5000000000004-0 ENTRIESREAD 6", "EXEC")
	h.do("XREADGROUP GROUP g d STREAMS s >")
	h.wantEffects()
	h.clock.Advance(time.Second)
	h.e.TickClock()
	h.do("XCLAIM s g d 0 5000000000003 JUSTID")
	h.wantEffects(fmt.Sprintf("XCLAIM s g d 0 5000000000003-0 TIME %d RETRYCOUNT 1 FORCE JUSTID LASTID 5000000000004-0", now+1000))
	h.do("XCLAIM s g d 0 1 LASTID 6000000000000")
	h.wantEffects("XGROUP SETID s g 6000000000000-0 ENTRIESREAD 6")
	h.do("XAUTOCLAIM s g c 0 0")
	h.wantEffects(fmt.Sprintf("XCLAIM s g c 0 5000000000003-0 TIME %d RETRYCOUNT 2 FORCE JUSTID LASTID 6000000000000-0", now+1000))
	h.do("XDEL s 5000000000003")
	h.effects()
	h.want("XAUTOCLAIM s g e 0 0", `["0-0" [] ["5000000000003-0"]]`)
	h.wantEffects(fmt.Sprintf("XCLAIM s g c 0 5000000000003-0 TIME %d RETRYCOUNT 2 FORCE JUSTID LASTID 6000000000000-0", now+1000))
	h.do("XSETID s 7000000000000 ENTRIESADDED 9")
	h.do("XGROUP DESTROY s g")
	h.wantEffects("XSETID s 7000000000000 ENTRIESADDED 9", "XGROUP DESTROY s g")
}

// Who waits for entries gets them, each group each entry once.
func TestStreamBlocking(t *testing.T) {
	h := newHarness(t)
	b, c := h.client(), h.client()
	b.send("XREAD", "BLOCK", "0", "STREAMS", "s", "t", "$", "$")
	h.want("XADD t 1-1 a 1", `"1-1"`)
	if v := b.read(); v.String() != h.do("XREAD STREAMS t 0").String() {
		t.Fatal(v)
	}
	b.send("XREAD", "BLOCK", "0", "STREAMS", "t", "$")
	c.send("XREAD", "BLOCK", "0", "STREAMS", "t", "5")
	h.do("DEL t")
	h.do("XADD t 2-1 a 2")
	if v := b.read(); v.Items[0].Items[1].Items[0].Items[0].Text != "2-1" {
		t.Fatal(v)
	}
	h.do("XADD t 6-1 a 3")
	if v := c.read(); v.Items[0].Items[1].Items[0].Items[0].Text != "6-1" {
		t.Fatal(v)
	}
	h.do("XGROUP CREATE t g $")
	b.send("XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "STREAMS", "t", ">")
	c.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "t", ">")
	h.effects()
	h.do("XADD t 7-1 a 4")
	if v := b.read(); v.Items[0].Items[1].Items[0].Items[0].Text != "7-1" {
		t.Fatal(v)
	}
	h.wantEffects("XADD t 7-1 a 4", "MULTI", fmt.Sprintf("XCLAIM t g b 0 7-1 TIME %d RETRYCOUNT 1 FORCE JUSTID LASTID 7-1", testEpoch),
		"XGROUP SETID t g 7-1 ENTRIESREAD 3", "EXEC")
	h.do("XADD t 8-1 a 5")
	if v := c.read(); v.Items[0].Items[1].Items[0].Items[0].Text != "8-1" {
		t.Fatal(v)
	}
	h.want("XREADGROUP GROUP g b BLOCK 0 STREAMS t 0", `[["t" [["7-1" ["a" "4"]]]]]`)
}

// MONITOR shows a command as its client sent it, however it is logged or goes on waiting.
func TestMonitorShowsStreamCommandsAsSent(t *testing.T) {
	h := newHarness(t)
	watcher, b := h.client(), h.client()
	watcher.send("MONITOR")
	watcher.read()
	h.do("XADD s MAXLEN ~ 1 7-* a 1")
	h.do("XTRIM s MAXLEN ~ 1")
	b.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	for _, want := range []string{`"XADD" "s" "MAXLEN" "~" "1" "7-*" "a" "1"`, `"XTRIM" "s" "MAXLEN" "~" "1"`, `"XREAD" "BLOCK" "0" "STREAMS" "s" "$"`} {
		if v := watcher.read(); !strings.HasSuffix(v.Text, want) {
			t.Fatalf("got %s, want %s", v.Text, want)
		}
	}
	h.do("XADD s 8-1 a 2")
	if v := b.read(); v.String() != `[["s" [["8-1" ["a" "2"]]]]]` {
		t.Fatal(v)
	}
	h.wantEffects("SELECT 0", "XADD s MAXLEN = 1 7-0 a 1", "XADD s 8-1 a 2")
}

// What takes entries away, and what is no change of the entries, serves nobody: a group that was set back is read when the
// next entry comes.
func TestStreamBlockingSeesEntriesOnly(t *testing.T) {
	h := newHarness(t)
	b := h.client()
	h.script(`
		XADD s 1-1 a 1
		XADD s 2-1 a 2
		XADD s 3-1 a 3
		XGROUP CREATE s g $
	`)
	b.send("XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "STREAMS", "s", ">")
	h.script(`
		XGROUP SETID s g 0 -> +OK
		XGROUP DELCONSUMER s g b -> :0
		XDEL s 1-1 -> :1
		XTRIM s MAXLEN 1 -> :1
		EXPIRE s 100 -> :1
		PERSIST s -> :1
		XINFO CONSUMERS s g -> []
		XADD s 4-1 a 4
	`)
	if v := b.read(); v.String() != `[["s" [["3-1" ["a" "3"]] ["4-1" ["a" "4"]]]]]` {
		t.Fatal(v)
	}
}

// Who waits in a group hears that the group is gone.
func TestStreamGroupGoesAway(t *testing.T) {
	const gone = "NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option"
	for line, want := range map[string]string{
		"XGROUP DESTROY s g": gone, "DEL s": gone, "FLUSHALL": gone, "RENAME s t": gone,
		"SET s x": "WRONGTYPE Operation against a key holding the wrong kind of value",
	} {
		h := newHarness(t)
		b, c := h.client(), h.client()
		h.do("XGROUP CREATE s g $ MKSTREAM")
		b.send("XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "STREAMS", "s", ">")
		c.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
		h.do(line)
		if v := b.read(); v.Text != want {
			t.Fatalf("%s: %v", line, v)
		}
		h.do("DEL s")
		h.do("XADD s 3-1 a 1")
		if v := c.read(); v.Items[0].Items[1].Items[0].Items[0].Text != "3-1" {
			t.Fatalf("%s: %v", line, v)
		}
	}
}

// In a transaction nothing waits, and it is served when it is done.
func TestStreamInTransaction(t *testing.T) {
	h := newHarness(t)
	b := h.client()
	h.want("MULTI", "+OK")
	h.want("XREAD BLOCK 0 STREAMS s $", "+QUEUED")
	h.want("EXEC", "[nil*]")
	b.send("XREAD", "BLOCK", "0", "STREAMS", "s", "0")
	h.want("MULTI", "+OK")
	h.want("XADD s 1 a 1", "+QUEUED")
	h.want("XADD s 2 a 1", "+QUEUED")
	h.want("EXEC", `["1-0" "2-0"]`)
	if v := b.read(); len(v.Items[0].Items[1].Items) != 2 {
		t.Fatal(v)
	}
}

// The lag of a group is exact, or not known.
func TestStreamLag(t *testing.T) {
	h := newHarness(t)
	lag := func() string {
		return h.do("XINFO GROUPS x").Items[0].Items[11].String()
	}
	for _, deleted := range []string{"1 4", "2 3", "1 2 3", "2 5", "4 5"} {
		h.do("DEL x")
		for i := 1; i <= 5; i++ {
			h.do(fmt.Sprintf("XADD x %d d v", i))
		}
		h.do("XGROUP CREATE x g 0")
		h.do("XREADGROUP GROUP g c COUNT 2 STREAMS x >")
		h.do("XDEL x " + deleted)
		left := 0
		for _, id := range []string{"3", "4", "5"} {
			if !slices.Contains(strings.Fields(deleted), id) {
				left++
			}
		}
		if got := lag(); got != "nil" && got != fmt.Sprint(":", left) {
			t.Errorf("without %s: the lag is %s, %d are left", deleted, got, left)
		}
		h.do("XREADGROUP GROUP g c STREAMS x >")
		if got := lag(); !strings.Contains(deleted, "5") && got != ":0" {
			t.Errorf("without %s: all are read, the lag is %s", deleted, got)
		}
	}
	h.do("DEL x")
	for i := 1; i <= 10; i++ {
		h.do(fmt.Sprintf("XADD x %d d v", i))
	}
	h.do("XGROUP CREATE x g 0")
	h.do("XREADGROUP GROUP g c STREAMS x >")
	h.do("XTRIM x MAXLEN 1")
	h.do("XSETID x 10 ENTRIESADDED 1")
	if got := lag(); got != ":0" {
		t.Errorf("the lag is %s", got)
	}
	h.do("XADD x 11 d v")
	h.do("XADD x 12 d v")
	h.do("XTRIM x MAXLEN 0")
	h.do("XGROUP CREATE x behind 5 ENTRIESREAD 5")
	h.do("XGROUP CREATE x beyond 50")
	for _, g := range h.do("XINFO GROUPS x").Items {
		if got := g.Items[11].String(); got != ":0" {
			t.Errorf("nothing is left, the lag is %s: %v", got, g)
		}
	}
}

const dumpFooter = 10 // bytes at the end of a payload: version and checksum

// A stream comes back from its payload, and a damaged payload does no harm.
func TestStreamDumps(t *testing.T) {
	h := newHarness(t)
	rapid.Check(t, func(rt *rapid.T) {
		h.do("FLUSHALL")
		d := &draw{T: rt}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if args := d.streamCommand(); args[0] != "MOVEOVER" && args[0] != "DEBUG" {
				h.args(args...)
			}
		}
		payload := h.args("DUMP", "s")
		if payload.IsNil() {
			return
		}
		h.args("RESTORE", "copy", "0", payload.Text)
		for _, line := range []string{"XRANGE %s - +", "XINFO STREAM %s", "XINFO GROUPS %s", "XPENDING %s g", "XPENDING %s h", "DUMP %s"} {
			a, b := h.do(fmt.Sprintf(line, "s")), h.do(fmt.Sprintf(line, "copy"))
			if a.String() != strings.ReplaceAll(b.String(), "'copy'", "'s'") {
				rt.Fatalf("%s: %v, of the copy %v", line, a, b)
			}
		}
		for i := 0; i < 20; i++ { // damage is refused, or leaves a stream that can be asked
			bad := []byte(payload.Text[:len(payload.Text)-dumpFooter])
			at := rapid.IntRange(0, len(bad)-1).Draw(rt, "at")
			bad[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
			h.args("RESTORE", "bad", "0", string(rdb.AppendDumpFooter(bad, 0)), "REPLACE")
			for _, line := range []string{"XRANGE bad - +", "XREVRANGE bad + -", "XINFO STREAM bad FULL", "XADD bad * a b", "XTRIM bad MAXLEN 1",
				"XREADGROUP GROUP g c STREAMS bad >", "XAUTOCLAIM bad g c 0 0", "XDEL bad 5-0", "DUMP bad"} {
				h.do(line)
			}
		}
	})
}

// The effects of commands on streams lead a replica to the same entries, groups and owners. Consumers that never got anything
// it need not know.
func TestStreamEffectsLeadToTheSame(t *testing.T) {
	h := newHarness(t)
	copyOf, link := replica(h)
	consumers := regexp.MustCompile(`"consumers" :[0-9]+`)
	known := func(v reply.Value) string { return consumers.ReplaceAllString(v.String(), "") }
	for _, one := range []*harness{h, copyOf} {
		one.e.Settings.Encoding.StreamNodes.Store(3)
	}
	rapid.Check(t, func(rt *rapid.T) {
		h.args("FLUSHALL")
		d := &draw{T: rt}
		for range rapid.IntRange(1, 100).Draw(rt, "steps") {
			args := d.streamCommand()
			switch args[0] {
			case "MOVEOVER":
				h.args("RESTORE", "t", "0", h.args("DUMP", args[1]).Text, "REPLACE")
			case "DEBUG":
				h.clock.Advance(time.Millisecond)
			default:
				h.args(args...)
			}
		}
		link.in = append(link.in, h.stream()...)
		link.run()
		for _, ask := range []string{"DEBUG DIGEST", "XINFO STREAM s", "XINFO STREAM t", "XINFO GROUPS s", "XINFO GROUPS t",
			"XPENDING s g", "XPENDING s h", "XPENDING t g"} {
			ours, theirs := known(h.do(ask)), known(copyOf.do(ask))
			if ours != theirs {
				rt.Fatalf("%s: %s, on the replica %s", ask, ours, theirs)
			}
		}
	})
}
