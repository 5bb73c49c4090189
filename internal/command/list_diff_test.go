package command

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// listTwins are twins with lists whose nodes are limited alike.
type listTwins struct {
	*twins
	packed bool // the other server has lists that are listpacks, and so the same nodes
}

func newListTwins(t *testing.T) *listTwins {
	w := &listTwins{twins: newTwins(t)}
	v, err := w.redis.Try("CONFIG", "GET", "set-max-listpack-entries") // came with them
	w.packed = err == nil && len(v.Items) == 2
	return w
}

// limit gives both the same limit of nodes.
func (w *listTwins) limit(t rapid.TB, size int, threshold string) {
	w.h.e.Settings.Encoding.ListSize.Store(int64(size))
	if v, err := w.redis.Try("CONFIG", "SET", "list-max-listpack-size", strconv.Itoa(size)); err != nil || v.Text != "OK" {
		t.Fatalf("CONFIG SET: %v, %v", v, err)
	}
	w.compare(t, "DEBUG", "QUICKLIST-PACKED-THRESHOLD", threshold)
}

func (d *draw) elem() string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"a", "b", "c", "1", "2", "10", "-5", "", "007", "70000", "-9223372036854775808", strings.Repeat("x", 64),
			strings.Repeat("y", 500), strings.Repeat("z", 3000)}),
		rapid.Map(rapid.IntRange(0, 300), strconv.Itoa),
	).Draw(d.T, "elem")
}

func (d *draw) elems(most int) (list []string) {
	for range rapid.IntRange(1, most).Draw(d.T, "count") {
		list = append(list, d.elem())
	}
	if rapid.IntRange(0, 5).Draw(d.T, "many") == 0 {
		v := d.elem()
		for i := range rapid.IntRange(1, 400).Draw(d.T, "times") {
			list = append(list, v, strconv.Itoa(i))
		}
	}
	return list
}

func (d *draw) at() string {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(-12, 12), strconv.Itoa),
		rapid.Map(rapid.IntRange(-800, 800), strconv.Itoa),
		rapid.SampledFrom([]string{"0", "-1", "x", "", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.5"}),
	).Draw(d.T, "at")
}

func (d *draw) end() string {
	return rapid.SampledFrom([]string{"LEFT", "RIGHT", "left", "Right", "LEFT", "RIGHT", "up"}).Draw(d.T, "end")
}

// lists draws the commands of lists.
func (d *draw) lists() []string {
	names := `LPUSH LPUSH RPUSH RPUSH RPUSH LPUSHX RPUSHX LPOP RPOP LLEN LRANGE LRANGE LINDEX LSET LSET LINSERT LINSERT LREM LREM LTRIM
		LPOS LPOS LMOVE RPOPLPUSH LMPOP SET EXPIRE COPY RENAME DEL DUMP TYPE MULTI EXEC`
	if rapid.IntRange(0, 30).Draw(d.T, "blocking") == 0 { // redis-server takes its time until it ends a wait
		names = "BLPOP BRPOP BLMPOP BLMOVE BRPOPLPUSH"
	}
	name := rapid.SampledFrom(strings.Fields(names)).Draw(d.T, "name")
	switch name {
	case "LPUSH", "RPUSH", "LPUSHX", "RPUSHX":
		return append([]string{name, d.key()}, d.elems(6)...)
	case "LPOP", "RPOP":
		return append([]string{name, d.key()}, rapid.SampledFrom([][]string{nil, nil, nil, {"0"}, {"1"}, {"3"}, {"300"}, {"x"}, {"-1"}, {"1", "1"}}).Draw(d.T, "count")...)
	case "LRANGE", "LTRIM":
		return []string{name, d.key(), d.at(), d.at()}
	case "LINDEX":
		return []string{name, d.key(), d.at()}
	case "LSET":
		at := d.at()
		if len(at) > 9 {
			at = "10" // NB: redis-server takes the lower 32 bits of an index
		}
		return []string{name, d.key(), at, d.elem()}
	case "LREM":
		return []string{name, d.key(), d.at(), d.elem()}
	case "LINSERT":
		return []string{name, d.key(), rapid.SampledFrom([]string{"BEFORE", "AFTER", "before", "IN"}).Draw(d.T, "where"), d.elem(), d.elem()}
	case "LPOS":
		args := []string{name, d.key(), d.elem()}
		for range rapid.IntRange(0, 3).Draw(d.T, "options") {
			n := d.at()
			if n == "-9223372036854775808" {
				n = "-1" // NB: as a rank it was accepted before Redis 7.2
			}
			args = append(args, rapid.SampledFrom([]string{"RANK", "COUNT", "MAXLEN", "rank", "NO"}).Draw(d.T, "option"), n)
		}
		return args
	}
	return d.listMoves(name)
}

func (d *draw) listMoves(name string) []string {
	const atOnce = "0.001" // a wait ends before the next command
	switch name {
	case "LMOVE":
		return []string{name, d.key(), d.key(), d.end(), d.end()}
	case "BLMOVE":
		return []string{name, d.key(), d.key(), d.end(), d.end(), atOnce}
	case "RPOPLPUSH", "COPY", "RENAME":
		return []string{name, d.key(), d.key()}
	case "BRPOPLPUSH":
		return []string{name, d.key(), d.key(), atOnce}
	case "LMPOP", "BLMPOP":
		args := []string{name}
		if name == "BLMPOP" {
			args = append(args, atOnce)
		}
		args = append(args, rapid.SampledFrom([]string{"1", "2", "2", "0", "3", "-1", "x"}).Draw(d.T, "numkeys"), d.key(), d.key(), d.end())
		if rapid.Bool().Draw(d.T, "counted") {
			args = append(args, "COUNT", d.at())
		}
		return args
	case "BLPOP", "BRPOP":
		return []string{name, d.key(), d.key(), rapid.SampledFrom([]string{atOnce, atOnce, atOnce, "-1", "x"}).Draw(d.T, "timeout")}
	case "SET":
		return []string{name, d.key(), "v"}
	case "EXPIRE":
		return []string{name, d.key(), "10000"}
	case "MULTI", "EXEC":
		return []string{name}
	}
	return []string{name, d.key()}
}

// exchange puts what each server has at a key into the other.
func (w *listTwins) exchange(t rapid.TB, key string) {
	theirs, err := w.redis.Try("DUMP", key)
	ours := w.h.args("DUMP", key)
	if err != nil || theirs.IsNil() != ours.IsNil() {
		t.Fatalf("DUMP %s: ours %v, theirs %v, %v", key, ours, theirs, err)
	}
	if ours.IsNil() {
		return
	}
	if body := len(ours.Text) - 10; w.packed && ours.Text[:body] != theirs.Text[:max(len(theirs.Text)-10, 0)] {
		t.Fatalf("DUMP %s:\n  ours:   %.300q\n  theirs: %.300q", key, ours.Text, theirs.Text)
	}
	if v, err := w.redis.Try("RESTORE", key, "0", ours.Text, "REPLACE"); err != nil || v.Text != "OK" {
		t.Fatalf("redis-server does not take what we dumped: %v, %v", v, err)
	}
	if v := w.h.args("RESTORE", key, "0", theirs.Text, "REPLACE"); v.Text != "OK" && !strings.HasPrefix(v.Text, "DUMP payload version") {
		t.Fatalf("we do not take what redis-server dumped: %v", v)
	}
}

// Random commands on lists are answered as redis-server answers them, and leave the same lists in the same encoding and nodes.
func TestListsAreThoseOfRedis(t *testing.T) {
	w := newListTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		w.limit(rt, rapid.SampledFrom([]int{-2, -2, -1, -3, 1, 2, 5, 100, 0, -6}).Draw(rt, "limit"),
			rapid.SampledFrom([]string{"0", "0", "100b", "2kb"}).Draw(rt, "threshold"))
		d := &draw{T: rt}
		queueing := false
		for d.step = range rapid.IntRange(1, 50).Draw(rt, "steps") {
			args := d.lists()
			switch args[0] {
			case "DUMP":
				if !queueing {
					w.exchange(rt, args[1])
				}
				continue
			case "MULTI", "EXEC":
				queueing = args[0] == "MULTI"
			}
			w.compare(rt, args...)
			if w.packed {
				w.compare(rt, "OBJECT", "ENCODING", d.key())
			}
		}
		w.compare(rt, "DISCARD")
		for _, k := range []string{"a", "b", "{a}1", "c"} {
			w.compare(rt, "DEBUG", "DIGEST-VALUE", k)
			w.compare(rt, "LRANGE", k, "0", "-1")
			w.exchange(rt, k)
			w.compare(rt, "DEBUG", "DIGEST-VALUE", k)
		}
	})
}
