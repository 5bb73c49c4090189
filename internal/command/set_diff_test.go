package command

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// setTwins are twins whose limits of sets are small, so that every encoding is met.
type setTwins struct {
	*twins
	encodings bool // the other server has the same encodings
}

func newSetTwins(t *testing.T) *setTwins {
	w := &setTwins{twins: newTwins(t)}
	v, err := w.redis.Try("CONFIG", "GET", "set-max-listpack-entries")
	w.encodings = err == nil && len(v.Items) == 2
	return w
}

// limit gives both the same limits.
func (w *setTwins) limit(t rapid.TB, intset, entries, value int) {
	l := &w.h.e.Settings.Encoding
	l.SetIntset.Store(int64(intset))
	l.SetEntries.Store(int64(entries))
	l.SetValue.Store(int64(value))
	args := []string{"CONFIG", "SET", "set-max-intset-entries", strconv.Itoa(intset)}
	if w.encodings {
		args = append(args, "set-max-listpack-entries", strconv.Itoa(entries), "set-max-listpack-value", strconv.Itoa(value))
	}
	if v, err := w.redis.Try(args...); err != nil || v.Text != "OK" {
		t.Fatalf("%q: %v, %v", args, v, err)
	}
}

// flat writes a reply with the elements of aggregates in order.
func flat(v reply.Value) string {
	if len(v.Items) == 0 {
		return fmt.Sprintf("%v %q %d", v.Kind, v.Text, v.Int)
	}
	items := make([]string, len(v.Items))
	for i := range v.Items {
		items[i] = flat(v.Items[i])
	}
	sort.Strings(items)
	return fmt.Sprintf("%v [%s]", v.Kind, strings.Join(items, ", "))
}

// same compares replies in which members may come in any order.
func (w *setTwins) same(t rapid.TB, args ...string) reply.Value {
	t.Helper()
	return w.sameInAnyOrder(t, args...)
}

// effectArgs returns what was logged since the last look.
func (h *harness) effectArgs() (list [][]string) {
	stream := h.stream()
	var parser resp.Parser
	var cmd resp.Command
	for len(stream) > 0 {
		n, err := parser.Parse(stream, &cmd)
		if err != nil || n == 0 {
			h.t.Fatalf("the log is no stream of commands: %q: %v", stream, err)
		}
		var args []string
		for _, a := range cmd.Args {
			args = append(args, string(a))
		}
		list, stream = append(list, args), stream[n:]
	}
	return list
}

// random gives both a command whose reply is up to chance, and makes the other do what was logged. The replies are of the same
// kind and size.
func (w *setTwins) random(t rapid.TB, args ...string) {
	t.Helper()
	w.h.effects()
	members := w.h.args("SMEMBERS", args[1])
	ours := w.h.args(args...)
	if ours.Kind == reply.Error || members.Kind == reply.Error {
		w.same(t, args...)
		return
	}
	for _, m := range ours.Items {
		if !strings.Contains(flat(members), flat(m)) {
			t.Fatalf("%q: %v is no member", args, m)
		}
	}
	theirs, err := w.redis.Try("SRANDMEMBER", args[1])
	if len(args) > 2 {
		theirs, err = w.redis.Try("SRANDMEMBER", args[1], args[2])
	}
	if err != nil || len(theirs.Items) != len(ours.Items) || theirs.IsNil() != ours.IsNil() {
		t.Fatalf("%q: ours %v, theirs %v: %v", args, ours, theirs, err)
	}
	for _, effect := range w.h.effectArgs() {
		w.redis.Try(effect...)
	}
	// What SPOP leaves of nearly all of a set has its encoding anew; who follows the log removes one by one, and has not.
	w.forgetEncoding(t, args[1])
}

// forgetEncoding removes a key whose encoding is up to chance, when the two differ.
func (w *setTwins) forgetEncoding(t rapid.TB, key string) {
	t.Helper()
	if v, _ := w.redis.Try("OBJECT", "ENCODING", key); w.encodings && v.Text != w.h.args("OBJECT", "ENCODING", key).Text {
		w.same(t, "DEL", key)
	}
}

func (d *draw) member() string {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(-3, 12), strconv.Itoa),
		rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "", "01", "-0", "40000", "-40000", "3000000000", "-3000000000",
			"9223372036854775807", "-9223372036854775808", "9223372036854775808", strings.Repeat("x", 20), strings.Repeat("y", 21)}),
	).Draw(d.T, "member")
}

func (d *draw) members(most int) (list []string) {
	if rapid.Bool().Draw(d.T, "numbers") {
		for range rapid.IntRange(1, most).Draw(d.T, "count") {
			list = append(list, strconv.Itoa(rapid.IntRange(0, 30).Draw(d.T, "number")))
		}
		return list
	}
	for range rapid.IntRange(1, most).Draw(d.T, "count") {
		list = append(list, d.member())
	}
	return list
}

func (d *draw) keys() (list []string) {
	for range rapid.IntRange(1, 4).Draw(d.T, "keys") {
		list = append(list, d.key())
	}
	return list
}

// sets draws the commands of sets.
func (d *draw) sets() []string {
	name := rapid.SampledFrom(strings.Fields(`SADD SADD SADD SADD SADD SREM SREM SMOVE SISMEMBER SMISMEMBER SCARD SMEMBERS SSCAN
		SPOP SPOP SRANDMEMBER SINTER SINTERCARD SINTERSTORE SUNION SUNIONSTORE SDIFF SDIFFSTORE SET EXPIRE COPY RENAME DEL
		DUMP DUMPBACK TYPE`)).Draw(d.T, "name")
	switch name {
	case "SADD":
		return append([]string{name, d.key()}, d.members(12)...)
	case "SREM", "SMISMEMBER":
		return append([]string{name, d.key()}, d.members(6)...)
	case "SMOVE":
		return []string{name, d.key(), d.key(), d.member()}
	case "SISMEMBER":
		return []string{name, d.key(), d.member()}
	case "SPOP", "SRANDMEMBER":
		return append([]string{name, d.key()}, rapid.SampledFrom([][]string{nil, {"0"}, {"1"}, {"2"}, {"3"}, {"7"}, {"12"}, {"30"}, {"x"}, {"-1"},
			{"-5"}, {"1", "1"}, {"-9223372036854775808"}, {""}}).Draw(d.T, "count")...)
	case "SINTER", "SUNION", "SDIFF":
		return append([]string{name}, d.keys()...)
	case "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE":
		return append([]string{name, d.key()}, d.keys()...)
	case "SINTERCARD":
		keys := d.keys()
		args := append([]string{name, strconv.Itoa(len(keys))}, keys...)
		return append(args, d.words("LIMIT 1", "limit 2", "LIMIT 0", "LIMIT -1", "LIMIT x", "LIMIT", "no")...)
	case "SSCAN":
		return append([]string{name, d.key(), rapid.SampledFrom([]string{"0", "0", "0", "x", "99999999", "-1"}).Draw(d.T, "cursor")},
			d.words("COUNT 100", "COUNT 0", "COUNT x", "MATCH *", "MATCH [a-d1]*", "MATCH \\", "TYPE set", "NOVALUES")...)
	case "SET":
		return []string{name, d.key(), "v"}
	case "EXPIRE":
		return []string{name, d.key(), "10000"}
	case "COPY", "RENAME":
		return []string{name, d.key(), d.key()}
	}
	return []string{name, d.key()}
}

func (w *setTwins) step(t rapid.TB, d *draw, args []string) {
	switch args[0] {
	case "SPOP", "SRANDMEMBER":
		w.random(t, args...)
	case "SSCAN":
		if v := w.h.args("OBJECT", "ENCODING", args[1]); (v.Text == "hashtable" || !w.encodings) && strings.Join(args[2:], " ") != "0 COUNT 100" {
			return // a walk in several steps
		}
		w.same(t, args...)
	case "DUMP":
		w.restoreOurs(t, args[1])
	case "DUMPBACK":
		w.restoreTheirs(t, args[1])
	default:
		hashed := false // members come in an order that is up to chance, which tells when an intset gets too big
		for _, key := range args[1:] {
			v := w.h.args("OBJECT", "ENCODING", key)
			hashed = hashed || v.Text == "hashtable"
		}
		w.same(t, args...)
		if hashed && (args[0] == "SUNIONSTORE" || args[0] == "SDIFFSTORE") {
			w.forgetEncoding(t, args[1])
		}
	}
}

// Random commands on sets are answered as redis-server answers them, and leave the same sets in the same encodings.
func TestSetsAreThoseOfRedis(t *testing.T) {
	w := newSetTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		*w.h.w.Dice() = 1
		w.limit(rt, rapid.SampledFrom([]int{0, 3, 8, 20}).Draw(rt, "intset"), rapid.SampledFrom([]int{0, 2, 6, 15}).Draw(rt, "entries"),
			rapid.SampledFrom([]int{0, 3, 20, 64}).Draw(rt, "value"))
		proto := rapid.SampledFrom([]string{"2", "3"}).Draw(rt, "protocol")
		w.h.args("HELLO", proto)
		w.redis.Try("HELLO", proto)
		d := &draw{T: rt}
		for range rapid.IntRange(1, 50).Draw(rt, "steps") {
			w.step(rt, d, d.sets())
			for _, k := range []string{"a", "b", "{a}1", "c"} {
				if w.encodings {
					w.same(rt, "OBJECT", "ENCODING", k)
				}
				w.same(rt, "SCARD", k)
			}
		}
		for _, k := range []string{"a", "b", "{a}1", "c"} {
			w.same(rt, "DEBUG", "DIGEST-VALUE", k)
			w.same(rt, "TTL", k)
		}
	})
}

// The dirty count, which INFO shows, is the one of redis-server.
func TestChangesOfSetsAreCountedAsRedisCounts(t *testing.T) {
	w := newSetTwins(t)
	for _, line := range []string{
		"SADD a 1 2 3 2", "SADD a 1", "SADD a x y", "SREM a 1 x nosuch", "SMOVE a b 2", "SMOVE a b 2", "SADD b 3", "SMOVE a b 3",
		"SADD c 1 2 3 4 5 6 7 8 9 10", "SPOP c 2", "SPOP c", "SPOP c 6", "SPOP c 9", "SINTERSTORE d a nosuch", "SUNIONSTORE d a b",
		"SDIFFSTORE d d d", "SINTERSTORE d d", "SUNIONSTORE b nosuch",
	} {
		before := w.h.e.Stats.Dirty.Load()
		info := func() int {
			v, err := w.redis.Try("INFO", "persistence")
			_, rest, _ := strings.Cut(v.Text, "rdb_changes_since_last_save:")
			number, _, _ := strings.Cut(rest, "\r")
			n, _ := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		theirs := info()
		args := splitLine(t, line)
		w.h.args(args...)
		if _, err := w.redis.Try(args...); err != nil {
			t.Fatal(err)
		}
		if ours, theirs := int(w.h.e.Stats.Dirty.Load()-before), info()-theirs; ours != theirs {
			t.Errorf("%s: %d changes, want %d", line, ours, theirs)
		}
	}
}
