package command

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// streamTwins are twins with small nodes.
type streamTwins struct {
	*twins
	modern bool // the other server tells when consumers were active
	moved  bool // a stream went through a dump of ours, in which no consumer is inactive
	grows  bool // nothing is taken away from streams, so what groups know of their progress is the same
}

func newStreamTwins(t *testing.T) *streamTwins {
	w := &streamTwins{twins: newTwins(t)}
	for _, line := range []string{"XGROUP CREATE x g $ MKSTREAM", "XGROUP CREATECONSUMER x g c"} {
		if _, err := w.redis.Try(strings.Fields(line)...); err != nil {
			t.Fatal(err)
		}
	}
	v, err := w.redis.Try("XINFO", "CONSUMERS", "x", "g")
	w.modern = err == nil && len(v.Items) == 1 && len(v.Items[0].Items) == 8
	return w
}

// limit gives both the same limits of nodes.
func (w *streamTwins) limit(t rapid.TB, bytes, entries int) {
	w.h.e.Settings.Encoding.StreamBytes.Store(int64(bytes))
	w.h.e.Settings.Encoding.StreamNodes.Store(int64(entries))
	args := []string{"CONFIG", "SET", "stream-node-max-bytes", strconv.Itoa(bytes), "stream-node-max-entries", strconv.Itoa(entries)}
	if v, err := w.redis.Try(args...); err != nil || v.Text != "OK" {
		t.Fatalf("%q: %v, %v", args, v, err)
	}
}

var takesAway = regexp.MustCompile(`^(XDEL|XTRIM|XSETID)|MAXLEN|MINID|ENTRIESREAD`)

var isID = regexp.MustCompile(`^[0-9]+-[0-9]+$`)

// timeless writes a reply without what the clock decides: the times of pending entries and of consumers. How far groups have
// come is left out as well when entries are taken away: Redis before 7.2.6 then counts entries that nobody can read.
func (w *streamTwins) timeless(v reply.Value) string {
	n := len(v.Items)
	if n == 0 {
		return fmt.Sprintf("%v %q %d", v.Kind, v.Text, v.Int)
	}
	items := make([]string, n)
	for i := range v.Items {
		items[i] = w.timeless(v.Items[i])
		if i > 0 && v.Items[i].Kind == reply.Int && (v.Items[i].Int >= 0 || w.moved) {
			switch v.Items[i-1].Text {
			case "idle", "inactive", "seen-time", "active-time":
				items[i] = "time"
			case "consumers":
				if !w.modern { // there a consumer comes into being only when it gets something
					items[i] = "number"
				}
			}
		}
		if i > 0 && !w.grows && (v.Items[i-1].Text == "lag" || v.Items[i-1].Text == "entries-read") {
			items[i] = "progress"
		}
	}
	if (n == 3 || n == 4) && isID.MatchString(v.Items[0].Text) && v.Items[n-1].Kind == reply.Int && v.Items[n-2].Kind == reply.Int {
		items[n-2] = "time"
	}
	return fmt.Sprintf("%v [%s]", v.Kind, strings.Join(items, ", "))
}

// both sends one command to both and compares the replies.
func (w *streamTwins) both(t rapid.TB, args ...string) reply.Value {
	t.Helper()
	theirs, err := w.redis.Try(args...)
	if err != nil {
		t.Fatalf("redis-server, %q: %v", args, err)
	}
	ours := w.h.args(args...)
	if w.timeless(ours) != w.timeless(theirs) {
		t.Fatalf("%q:\n  ours:   %v\n  theirs: %v", args, w.timeless(ours), w.timeless(theirs))
	}
	return ours
}

func (d *draw) stream() string {
	return rapid.SampledFrom([]string{"s", "s", "s", "t", "str", "none"}).Draw(d.T, "stream")
}

func (d *draw) id() string {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%d-%d", rapid.IntRange(0, 60).Draw(t, "ms"), rapid.IntRange(0, 3).Draw(t, "seq"))
		}),
		rapid.Map(rapid.IntRange(0, 60), strconv.Itoa),
		rapid.SampledFrom([]string{"0", "0-0", "1-*", "-", "+", "$", ">", "", "x", "1-x", "+7", "007-01", "18446744073709551615",
			"18446744073709551615-18446744073709551615", "300-18446744073709551615", "5-18446744073709551616", "-5", "5--3"}),
	).Draw(d.T, "id")
}

// bound is an end of an interval.
func (d *draw) bound() string {
	return rapid.SampledFrom([]string{"", "", "", "("}).Draw(d.T, "open") + rapid.OneOf(
		rapid.SampledFrom([]string{"-", "+", "-", "+"}), rapid.Just(d.id())).Draw(d.T, "bound")
}

func (d *draw) group() string {
	return rapid.SampledFrom([]string{"g", "g", "g", "h", "no"}).Draw(d.T, "group")
}

func (d *draw) consumer() string {
	return rapid.SampledFrom([]string{"c", "d", "e", ""}).Draw(d.T, "consumer")
}

func (d *draw) count() string {
	return rapid.SampledFrom([]string{"1", "2", "5", "10", "0", "-1", "9223372036854775807", "x"}).Draw(d.T, "count")
}

func (d *draw) trimWords() []string {
	return d.words("MAXLEN "+d.count(), "MAXLEN = "+d.count(), "MAXLEN ~ "+d.count(), "MINID "+d.id(), "MINID ~ "+d.id(), "MINID = "+d.id(),
		"LIMIT "+d.count())
}

func (d *draw) pairs() []string {
	names := rapid.SampledFrom([]string{"a", "a", "a b", "a b", "b a", "17", "x y z"}).Draw(d.T, "names")
	var list []string
	for _, name := range strings.Fields(names) {
		list = append(list, name, rapid.OneOf(rapid.Just(d.value()), rapid.SampledFrom([]string{"1", "22", "abc", ""})).Draw(d.T, "pairValue"))
	}
	if rapid.IntRange(0, 20).Draw(d.T, "odd") == 0 {
		list = list[1:]
	}
	return list
}

// next is an ID that mostly comes after those that are there.
func (d *draw) next() string {
	if rapid.IntRange(0, 7).Draw(d.T, "odd") == 0 {
		return d.id()
	}
	d.step++
	return fmt.Sprintf("%d-%s", d.step/2, rapid.SampledFrom([]string{"*", "*", "*", strconv.Itoa(d.step)}).Draw(d.T, "seq"))
}

func (d *draw) streamCommand() []string {
	name := rapid.SampledFrom(strings.Fields(`XADD XADD XADD XADD XADD XADD XTRIM XLEN XRANGE XREVRANGE XDEL XDEL XSETID XREAD
		XREADGROUP XREADGROUP XREADGROUP XACK XPENDING XPENDING XCLAIM XCLAIM XAUTOCLAIM XAUTOCLAIM CREATE CREATE CREATE XGROUPSETID
		DESTROY CREATECONSUMER DELCONSUMER XINFOSTREAM XINFOGROUPS XINFOCONSUMERS DEL COPY MOVEOVER DIGEST OBJECT`)).Draw(d.T, "name")
	key := d.stream()
	switch name {
	case "XADD":
		args := append([]string{name, key}, d.trimWords()...)
		if rapid.IntRange(0, 9).Draw(d.T, "nomk") == 0 {
			args = append(args, "NOMKSTREAM")
		}
		return append(append(args, d.next()), d.pairs()...)
	case "XTRIM":
		return append([]string{name, key}, d.trimWords()...)
	case "XRANGE", "XREVRANGE":
		return append([]string{name, key, d.bound(), d.bound()}, d.words("COUNT "+d.count())...)
	case "XDEL":
		return []string{name, key, d.id(), d.id()}
	case "XSETID":
		return append([]string{name, key, d.id()}, d.words("ENTRIESADDED "+d.count(), "MAXDELETEDID "+d.id(), "x")...)
	case "XREAD":
		args := append([]string{name}, d.words("COUNT "+d.count(), "NOACK")...)
		return append(args, "STREAMS", key, d.stream(), d.id(), d.id())
	case "XREADGROUP":
		args := append([]string{name, "GROUP", d.group(), d.consumer()}, d.words("COUNT "+d.count(), "NOACK", "COUNT 2")...)
		return append(args, "STREAMS", key, rapid.OneOf(rapid.SampledFrom([]string{">", ">", ">", "0"}), rapid.Just(d.id())).Draw(d.T, "after"))
	case "XACK":
		return []string{name, key, d.group(), d.id(), d.id()}
	}
	return d.groupCommand(name, key)
}

func (d *draw) groupCommand(name, key string) []string {
	switch name {
	case "XPENDING":
		args := []string{name, key, d.group()}
		if rapid.Bool().Draw(d.T, "summary") {
			return args
		}
		args = append(append(args, d.words("IDLE "+d.idle())...), d.bound(), d.bound(), d.count())
		return append(args, d.words(d.consumer())...)
	case "XCLAIM":
		return append([]string{name, key, d.group(), d.consumer(), d.idle(), d.id(), d.id()},
			d.words("IDLE "+d.idle(), "TIME "+d.idle(), "RETRYCOUNT "+d.count(), "FORCE", "FORCE", "JUSTID", "LASTID "+d.id())...)
	case "XAUTOCLAIM":
		return append([]string{name, key, d.group(), d.consumer(), d.idle(), d.bound()}, d.words("COUNT "+d.count(), "JUSTID", "x")...)
	case "CREATE":
		return append([]string{"XGROUP", name, key, d.group(), d.id()}, d.words("MKSTREAM", "ENTRIESREAD "+d.count())...)
	case "XGROUPSETID":
		return append([]string{"XGROUP", "SETID", key, d.group(), d.id()}, d.words("ENTRIESREAD "+d.count())...)
	case "DESTROY":
		return []string{"XGROUP", name, key, d.group()}
	case "CREATECONSUMER", "DELCONSUMER":
		return []string{"XGROUP", name, key, d.group(), d.consumer()}
	case "XINFOSTREAM":
		return append([]string{"XINFO", "STREAM", key}, d.words("FULL", "COUNT "+d.count())...)
	case "XINFOGROUPS":
		return []string{"XINFO", "GROUPS", key}
	case "XINFOCONSUMERS":
		return []string{"XINFO", "CONSUMERS", key, d.group()}
	case "COPY":
		return []string{name, key, d.stream(), "REPLACE"}
	case "DIGEST":
		return []string{"DEBUG", "DIGEST"}
	case "OBJECT":
		return []string{name, "ENCODING", key}
	}
	return []string{name, key}
}

func (d *draw) idle() string {
	return rapid.SampledFrom([]string{"0", "0", "0", "-1", "10000000", "x"}).Draw(d.T, "idle")
}

// moveOver replaces a stream by what the other server dumps.
func (w *streamTwins) moveOver(t rapid.TB, key string) {
	t.Helper()
	w.moved = true
	w.exchangeDumps(t, key, key)
}

// compareStreams compares all there is to know of the streams.
func (w *streamTwins) compareStreams(t rapid.TB) {
	for _, key := range []string{"s", "t"} {
		if w.modern {
			w.both(t, "XINFO", "STREAM", key, "FULL", "COUNT", "0")
		}
		w.both(t, "XINFO", "STREAM", key)
		w.both(t, "XINFO", "GROUPS", key)
		w.both(t, "XRANGE", key, "-", "+")
		w.both(t, "XREVRANGE", key, "+", "-")
	}
	w.both(t, "DEBUG", "DIGEST")
}

// Random commands on streams are answered as redis-server answers them, and leave the same data.
func TestStreamsAreThoseOfRedis(t *testing.T) {
	w := newStreamTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		w.limit(rt, rapid.SampledFrom([]int{0, 30, 200, 4096}).Draw(rt, "bytes"), rapid.SampledFrom([]int{0, 1, 3, 100}).Draw(rt, "entries"))
		w.both(rt, "SET", "str", "x")
		if rapid.Bool().Draw(rt, "RESP3") {
			w.redis.Try("HELLO", "3")
			w.h.args("HELLO", "3")
		}
		d := &draw{T: rt}
		w.moved = false
		w.grows = rapid.Bool().Draw(rt, "grows")
		for range rapid.IntRange(1, 120).Draw(rt, "steps") {
			args := d.streamCommand()
			switch {
			case w.grows && takesAway.MatchString(strings.Join(args, " ")):
			case args[0] == "MOVEOVER":
				w.moveOver(rt, args[1])
			case !w.modern && (args[0] == "XINFO" && args[1] != "GROUPS" || args[1] == "CREATECONSUMER" || args[0] == "XSETID"):
			default:
				w.both(rt, args...)
			}
		}
		w.compareStreams(rt)
	})
}
