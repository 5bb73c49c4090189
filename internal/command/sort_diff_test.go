package command

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// sortElems are what is sorted: some are numbers, and those are few.
var sortElems = []string{"1", "2", "10", "-5", "3.5", "1e3", "inf", "0x10", "a", "b", "B", "", "007", "zz"}

// fillSorts makes lists, a set, a sorted set, and what the patterns of SORT find.
func (w *twins) fillSorts(t rapid.TB, d *draw) {
	numbers := rapid.Bool().Draw(d.T, "numbers")
	elem := func() string {
		if numbers {
			return sortElems[rapid.IntRange(0, 7).Draw(d.T, "elem")]
		}
		return rapid.SampledFrom(sortElems).Draw(d.T, "elem")
	}
	for range rapid.IntRange(1, 12).Draw(d.T, "elements") {
		w.compare(t, "RPUSH", "l", elem())
		w.compare(t, "SADD", "s", elem())
		w.compare(t, "ZADD", "z", strconv.Itoa(rapid.IntRange(0, 5).Draw(d.T, "score")), elem())
	}
	for i, e := range sortElems {
		w.compare(t, "SET", "w_"+e, fmt.Sprint((i*5+3)%len(sortElems)))
		w.compare(t, "HSET", "h:"+e+":x", "f", fmt.Sprint((i*3)%len(sortElems)), "g", "text "+e)
		if i%3 == 0 {
			w.compare(t, "SET", "v_"+e, fmt.Sprint(i/2))
		}
	}
	w.compare(t, "LPUSH", "w_odd", "a list")
}

func (d *draw) sortCommand() []string {
	args := []string{rapid.SampledFrom([]string{"SORT", "SORT", "SORT", "sort_ro"}).Draw(d.T, "name"),
		rapid.SampledFrom([]string{"l", "l", "s", "z", "no", "w_1"}).Draw(d.T, "key")}
	number := func() string {
		return rapid.SampledFrom([]string{"0", "1", "2", "5", "100", "-1", "-3", "x", "9223372036854775807"}).Draw(d.T, "number")
	}
	text := rapid.Bool().Draw(d.T, "text")
	if text {
		args = append(args, "ALPHA")
	}
	for range rapid.IntRange(0, 4).Draw(d.T, "options") {
		switch option := rapid.SampledFrom(strings.Fields("BY BY GET GET LIMIT LIMIT ASC DESC STORE WHAT")).Draw(d.T, "option"); option {
		case "BY":
			patterns := []string{"w_*", "h:*:x->f", "v_*", "none_*"}
			if text {
				patterns = patterns[:2] // NB: where redis-server compares texts, equal weights leave the order open
			} else if args[1] != "s" {
				patterns = append(patterns, "nosort")
			}
			args = append(args, option, rapid.SampledFrom(patterns).Draw(d.T, "pattern"))
		case "GET":
			args = append(args, option, rapid.SampledFrom([]string{"#", "w_*", "v_*", "h:*:x->g", "h:*:x->no", "h:*:x->", "w_odd", "##", "*"}).Draw(d.T, "pattern"))
		case "LIMIT":
			args = append(args, option, number(), number())
		case "STORE":
			args = append(args, option, rapid.SampledFrom([]string{"d", "d", "w_odd"}).Draw(d.T, "to"))
		case "WHAT":
			if rapid.IntRange(0, 9).Draw(d.T, "odd") == 0 {
				args = append(args, rapid.SampledFrom([]string{"WHAT", "GET", "STORE", "LIMIT"}).Draw(d.T, "word"))
			}
		default:
			args = append(args, option)
		}
	}
	if rapid.IntRange(0, 19).Draw(d.T, "lacking") == 0 {
		args = append(args, "BY") // NB: it comes last, as any word behind it would be a pattern, and most leave a set unsorted
	}
	return args
}

// SORT answers as redis-server does, and stores the same.
func TestSortIsThatOfRedis(t *testing.T) {
	w := newTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		d := &draw{T: rt}
		w.fillSorts(rt, d)
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			args := d.sortCommand()
			w.compare(rt, args...)
			w.compare(rt, "LRANGE", "d", "0", "-1")
		}
		w.compare(rt, "DEBUG", "DIGEST")
	})
}

// A long sort with a small window gives what a full one gives.
func TestSortWindow(t *testing.T) {
	h := newHarness(t)
	rapid.Check(t, func(rt *rapid.T) {
		h.args("DEL", "l")
		n := rapid.IntRange(101, 3000).Draw(rt, "n")
		most := rapid.SampledFrom([]int{1, 10, 100000}).Draw(rt, "most")
		var want []int
		args := []string{"RPUSH", "l"}
		for range n {
			v := rapid.IntRange(0, most).Draw(rt, "value")
			want = append(want, v)
			args = append(args, strconv.Itoa(v))
		}
		h.args(args...)
		sort.Ints(want)
		from, count := rapid.IntRange(0, 50).Draw(rt, "from"), rapid.IntRange(1, 50).Draw(rt, "count")
		v := h.args("SORT", "l", "LIMIT", strconv.Itoa(from), strconv.Itoa(count))
		if v.Kind != reply.Array || len(v.Items) != count {
			rt.Fatalf("got %v", v)
		}
		for i, item := range v.Items {
			if item.Text != strconv.Itoa(want[from+i]) {
				rt.Fatalf("at %d: %s, want %d", i, item.Text, want[from+i])
			}
		}
	})
}

// Elements that BY makes equal stay as they are when they are compared as texts; those of a set are in the order of theirs.
func TestSortEqualWeights(t *testing.T) {
	h := newHarness(t)
	h.args("RPUSH", "l", "b", "c", "a", "10", "9")
	h.args("SADD", "s", "b", "c", "a", "10", "9")
	h.args("SET", "w_a", "x")
	for _, c := range []struct{ command, want string }{
		{"SORT l BY w_* ALPHA", "b c 10 9 a"},
		{"SORT l BY w_* ALPHA DESC", "a b c 10 9"},
		{"SORT l BY w_* ALPHA LIMIT 1 2", "c 10"},
		{"SORT s BY w_* ALPHA", "10 9 b c a"},
	} {
		if got := strings.Join(h.args(strings.Fields(c.command)...).Strings(), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.command, got, c.want)
		}
	}
}

// What SORT stores has nodes of 8 KB, whatever the limit of nodes is, and is a listpack if the limit allows that.
func TestSortStoresNodesAsRedis(t *testing.T) {
	h := newHarness(t)
	push := func(key string, n int) {
		args := []string{"RPUSH", key}
		for i := range n {
			args = append(args, fmt.Sprintf("element:%06d", i))
		}
		h.args(args...)
	}
	push("long", 3000)
	push("short", 300)
	for _, c := range []struct {
		limit     int64
		key, want string
		nodes     byte
	}{
		{-5, "long", "quicklist", 6}, {-5, "short", "listpack", 1}, {-2, "long", "quicklist", 6}, {-1, "short", "quicklist", 1}, {128, "short", "quicklist", 1},
		{512, "short", "listpack", 1}, {5000, "long", "quicklist", 6},
	} {
		h.e.Settings.Encoding.ListSize.Store(c.limit)
		h.args("SORT", c.key, "BY", "nosort", "STORE", "to")
		encoding, dump := h.do("OBJECT ENCODING to").Text, h.do("DUMP to").Text
		if nodes := dump[1]; encoding != c.want || nodes != c.nodes {
			t.Errorf("with nodes of %d, %s is stored as a %s of %d nodes, want a %s of %d", c.limit, c.key, encoding, nodes, c.want, c.nodes)
		}
	}
}
