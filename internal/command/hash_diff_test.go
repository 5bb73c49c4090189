package command

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// limitHashes gives both servers the same limits of hashes.
func (w *twins) limitHashes(t rapid.TB, entries, value int) {
	w.h.e.Settings.Encoding.HashEntries.Store(int64(entries))
	w.h.e.Settings.Encoding.HashValue.Store(int64(value))
	args := []string{"CONFIG", "SET", "hash-max-listpack-entries", strconv.Itoa(entries), "hash-max-listpack-value", strconv.Itoa(value)}
	if v, err := w.redis.Try(args...); err != nil || v.Text != "OK" {
		t.Fatalf("%q: %v, %v", args, v, err)
	}
}

func (d *draw) field() string {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 12), func(n int) string { return "f" + strconv.Itoa(n) }),
		rapid.SampledFrom([]string{"", "1", "-5", "01", "9223372036854775807", strings.Repeat("f", 20), strings.Repeat("g", 70)}),
	).Draw(d.T, "field")
}

func (d *draw) hashValue() string {
	return rapid.SampledFrom([]string{"", "0", "1", "-1", "127", "128", "5000", "-70000", "3000000000", "9223372036854775807", "1.5", "1e3",
		"3.0e15", " 1", "x", "text", strings.Repeat("v", 20), strings.Repeat("w", 63), strings.Repeat("w", 64), strings.Repeat("w", 65),
		strings.Repeat("z", 300)}).Draw(d.T, "value")
}

// hashPairs are fields with values. No field is there twice: 7.0 and 7.2 differ in when so many make a hashtable.
func (d *draw) hashPairs(most int) (list []string) {
	seen := map[string]bool{}
	for range rapid.IntRange(1, most).Draw(d.T, "count") {
		if name := d.field(); !seen[name] {
			seen[name] = true
			list = append(list, name, d.hashValue())
		}
	}
	return list
}

func (d *draw) hashFields(most int) (list []string) {
	for range rapid.IntRange(1, most).Draw(d.T, "count") {
		list = append(list, d.field())
	}
	return list
}

// hashes draws the commands of hashes.
func (d *draw) hashes() []string {
	name := rapid.SampledFrom(strings.Fields(`HSET HSET HSET HSET HMSET HSETNX HSETNX HGET HMGET HGETALL HKEYS HVALS HLEN HEXISTS HDEL
		HDEL HSTRLEN HINCRBY HINCRBY HINCRBYFLOAT HINCRBYFLOAT HRANDFIELD HSCAN SET EXPIRE COPY RENAME DEL DUMP DUMPBACK TYPE`)).Draw(d.T, "name")
	switch name {
	case "HSET", "HMSET":
		list := append([]string{name, d.key()}, d.hashPairs(8)...)
		if rapid.IntRange(0, 20).Draw(d.T, "odd") == 0 {
			list = list[:len(list)-1]
		}
		return list
	case "HSETNX":
		return []string{name, d.key(), d.field(), d.hashValue()}
	case "HGET", "HEXISTS", "HSTRLEN":
		return []string{name, d.key(), d.field()}
	case "HMGET", "HDEL":
		return append([]string{name, d.key()}, d.hashFields(6)...)
	case "HINCRBY":
		return []string{name, d.key(), d.field(), d.number()}
	case "HINCRBYFLOAT":
		return []string{name, d.key(), d.field(), rapid.SampledFrom([]string{"0", "1", "-1.5", "1e20", "0.1", "inf", "nan", "x", "3.14"}).Draw(d.T, "delta")}
	case "HRANDFIELD":
		return append([]string{name, d.key()}, d.words("0", "100", "x", "9223372036854775807", "-9223372036854775808", "100 WITHVALUES",
			"9223372036854775807 WITHVALUES", "1 2 3")...)
	case "HSCAN":
		return append([]string{name, d.key(), rapid.SampledFrom([]string{"0", "0", "x", "-1"}).Draw(d.T, "cursor")},
			d.words("COUNT 100", "COUNT 0", "COUNT x", "MATCH *", "MATCH f[1-5]*", "TYPE hash")...)
	case "SET":
		return []string{name, d.key(), "v"}
	case "EXPIRE":
		return []string{name, d.key(), "10000"}
	case "COPY", "RENAME":
		return []string{name, d.key(), d.key()}
	}
	return []string{name, d.key()}
}

// sameInAnyOrder compares replies in which fields may come in any order.
func (w *twins) sameInAnyOrder(t rapid.TB, args ...string) reply.Value {
	t.Helper()
	theirs, err := w.redis.Try(args...)
	if err != nil {
		t.Fatalf("redis-server, %q: %v", args, err)
	}
	ours := w.h.args(args...)
	if flat(ours) != flat(theirs) {
		t.Fatalf("%q:\n  ours:   %v\n  theirs: %v", args, ours, theirs)
	}
	return ours
}

func (w *twins) hashStep(t rapid.TB, args []string) {
	switch args[0] {
	case "HRANDFIELD":
		if len(args) == 2 && w.h.args("HLEN", args[1]).Int > 0 {
			if v := w.h.args(args...); w.h.args("HEXISTS", args[1], v.Text).Int != 1 {
				t.Fatalf("HRANDFIELD replied %v, which is no field", v)
			}
			return
		}
		w.sameInAnyOrder(t, args...)
	case "HSCAN":
		if v := w.h.args("OBJECT", "ENCODING", args[1]); v.Text == "hashtable" && strings.Join(args[2:], " ") != "0 COUNT 100" {
			return // a walk in several steps
		}
		w.sameInAnyOrder(t, args...)
	case "DUMP":
		w.restoreOurs(t, args[1])
	case "DUMPBACK":
		w.restoreTheirs(t, args[1])
	default:
		w.sameInAnyOrder(t, args...)
	}
}

// Random commands on hashes are answered as redis-server answers them, and leave the same hashes in the same encodings.
func TestHashesAreThoseOfRedis(t *testing.T) {
	w := newTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		w.limitHashes(rt, rapid.SampledFrom([]int{0, 3, 8, 512}).Draw(rt, "entries"), rapid.SampledFrom([]int{0, 3, 20, 64}).Draw(rt, "value"))
		proto := rapid.SampledFrom([]string{"2", "3"}).Draw(rt, "protocol")
		w.h.args("HELLO", proto)
		w.redis.Try("HELLO", proto)
		d := &draw{T: rt}
		for range rapid.IntRange(1, 50).Draw(rt, "steps") {
			w.hashStep(rt, d.hashes())
			for _, k := range []string{"a", "b", "{a}1", "c"} {
				w.sameInAnyOrder(rt, "OBJECT", "ENCODING", k)
			}
		}
		for _, k := range []string{"a", "b", "{a}1", "c"} {
			w.sameInAnyOrder(rt, "HGETALL", k)
			w.sameInAnyOrder(rt, "DEBUG", "DIGEST-VALUE", k)
			w.sameInAnyOrder(rt, "TTL", k)
		}
	})
}

// The dirty count, which INFO shows, is the one of redis-server.
func TestChangesOfHashesAreCountedAsRedisCounts(t *testing.T) {
	w := newTwins(t)
	for _, line := range []string{
		"HSET a 1 2 3 4", "HSET a 1 2", "HSETNX a 1 5", "HSETNX a 9 5", "HMSET a x 1 y 2 z 3", "HDEL a x y nosuch", "HINCRBY a 1 1",
		"HINCRBYFLOAT a 1 1", "HDEL a nosuch", "HDEL a 1 3 9 z",
	} {
		before := w.h.e.Stats.Dirty.Load()
		theirs := w.redisDirty(t)
		args := splitLine(t, line)
		w.h.args(args...)
		if _, err := w.redis.Try(args...); err != nil {
			t.Fatal(err)
		}
		if ours, theirs := int(w.h.e.Stats.Dirty.Load()-before), w.redisDirty(t)-theirs; ours != theirs {
			t.Errorf("%s: %d changes, want %d", line, ours, theirs)
		}
	}
}

// redisDirty is the number of changes that the other server counts.
func (w *twins) redisDirty(t *testing.T) int {
	t.Helper()
	v, err := w.redis.Try("INFO", "persistence")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(v.Text, "rdb_changes_since_last_save:")
	number, _, _ := strings.Cut(rest, "\r")
	n, _ := strconv.Atoi(number)
	return n
}
