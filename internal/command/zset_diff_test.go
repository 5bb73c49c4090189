package command

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// zsetTwins are twins whose limits of sorted sets are small, so that both encodings are met.
type zsetTwins struct {
	*twins
	since72 bool // the other server is 7.2 or later
}

func newZSetTwins(t *testing.T) *zsetTwins {
	w := &zsetTwins{twins: newTwins(t)}
	v, err := w.redis.Try("INFO", "server")
	w.since72 = err == nil && !strings.Contains(v.Text, "redis_version:7.0")
	return w
}

// limit gives both the same limits.
func (w *zsetTwins) limit(t rapid.TB, entries, value int) {
	l := &w.h.e.Settings.Encoding
	l.ZSetEntries.Store(int64(entries))
	l.ZSetValue.Store(int64(value))
	v, err := w.redis.Try("CONFIG", "SET", "zset-max-listpack-entries", strconv.Itoa(entries), "zset-max-listpack-value", strconv.Itoa(value))
	if err != nil || v.Text != "OK" {
		t.Fatalf("CONFIG SET: %v, %v", v, err)
	}
}

// speak makes both speak a version of the protocol.
func (w *zsetTwins) speak(t rapid.TB, version string) {
	if _, err := w.redis.Try("HELLO", version); err != nil {
		t.Fatal(err)
	}
	w.h.args("HELLO", version)
}

// unordered compares replies whose elements may come in any order.
func (w *zsetTwins) unordered(t rapid.TB, args ...string) {
	t.Helper()
	theirs, err := w.redis.Try(args...)
	if err != nil {
		t.Fatalf("redis-server, %q: %v", args, err)
	}
	if ours := w.h.args(args...); flat(ours) != flat(theirs) {
		t.Fatalf("%q:\n  ours:   %v\n  theirs: %v", args, ours, theirs)
	}
}

// zsetDraw makes random commands on sorted sets.
type zsetDraw struct{ *draw }

// score is one that both 7.0 and 7.2 write with the same digits.
func (d *zsetDraw) score() string {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(-4, 9), strconv.Itoa),
		rapid.SampledFrom([]string{"0.5", "-2.25", "1.75", "inf", "-inf", "+inf", "1e3", "0x10", "1099511627776", "-0.125", "3.0"}),
	).Draw(d.T, "score")
}

func (d *zsetDraw) badScore() string {
	if rapid.IntRange(0, 15).Draw(d.T, "bad") == 0 {
		return rapid.SampledFrom([]string{"nan", "x", "", " 1", "1 ", "1e400"}).Draw(d.T, "odd")
	}
	return d.score()
}

func (d *zsetDraw) bound() string {
	return rapid.SampledFrom([]string{"", "(", "("}).Draw(d.T, "open") + d.badScore()
}

func (d *zsetDraw) lex() string {
	return rapid.SampledFrom([]string{"[", "(", "[", "(", ""}).Draw(d.T, "open") + d.member()
}

func (d *zsetDraw) lexBound() string {
	if rapid.IntRange(0, 3).Draw(d.T, "end") == 0 {
		return rapid.SampledFrom([]string{"-", "+", "[", "(", "", "x", "+x"}).Draw(d.T, "end")
	}
	return d.lex()
}

func (d *zsetDraw) rank() string {
	return rapid.SampledFrom([]string{"0", "1", "2", "5", "-1", "-2", "-100", "100", "x"}).Draw(d.T, "rank")
}

// maybe returns the words in one of n cases.
func (d *zsetDraw) maybe(n int, words ...string) []string {
	if rapid.IntRange(1, n).Draw(d.T, "maybe") == 1 {
		return words
	}
	return nil
}

func (d *zsetDraw) limit() []string { return d.maybe(3, "LIMIT", d.rank(), d.rank()) }

func (d *zsetDraw) inputs() []string {
	list := d.keys()
	args := append([]string{strconv.Itoa(len(list))}, list...)
	if rapid.IntRange(0, 20).Draw(d.T, "wrong") == 0 {
		args[0] = rapid.SampledFrom([]string{"0", "-1", "x", "50"}).Draw(d.T, "numkeys")
	}
	return args
}

func (d *zsetDraw) weights(keys int) []string {
	args := []string{"WEIGHTS"}
	for range keys {
		args = append(args, d.badScore())
	}
	return args
}

func (d *zsetDraw) join() []string {
	return []string{"AGGREGATE", rapid.SampledFrom([]string{"SUM", "min", "MAX", "AVG"}).Draw(d.T, "join")}
}

func (d *zsetDraw) zsetCommand() []string {
	d.step++
	name := rapid.SampledFrom(strings.Fields(`ZADD ZADD ZADD ZADD ZADD ZINCRBY ZREM ZCARD ZSCORE ZMSCORE ZRANK ZREVRANK ZRANGE ZRANGE
		ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZCOUNT ZREMRANGEBYRANK ZREMRANGEBYSCORE ZRANGESTORE
		ZUNION ZINTER ZDIFF ZUNIONSTORE ZINTERSTORE ZDIFFSTORE ZINTERCARD ZPOPMIN ZPOPMAX ZMPOP ZSCAN SADD SET DEL
		OBJECT COPY RENAME DUMPRESTORE EXPIRE PERSIST`)).Draw(d.T, "name")
	k := d.key()
	switch name {
	case "ZADD":
		args := append([]string{name, k}, d.words("NX", "XX", "GT", "LT", "CH", "INCR", "CH", "")...)
		for range rapid.IntRange(1, 4).Draw(d.T, "pairs") {
			args = append(args, d.badScore(), d.member())
		}
		return append(args, d.maybe(30, "x")...)
	case "ZINCRBY":
		return []string{name, k, d.badScore(), d.member()}
	case "ZREM", "ZMSCORE":
		return append([]string{name, k}, d.members(3)...)
	case "ZSCORE", "ZRANK", "ZREVRANK":
		return []string{name, k, d.member()}
	case "ZRANGE":
		return d.zrangeArgs([]string{name, k}, "WITHSCORES")
	case "ZRANGESTORE":
		return d.zrangeArgs([]string{name, d.key(), k}, "REV")
	case "ZREVRANGE":
		return append([]string{name, k, d.rank(), d.rank()}, d.maybe(2, "WITHSCORES")...)
	case "ZREMRANGEBYRANK":
		return []string{name, k, d.rank(), d.rank()}
	case "ZRANGEBYSCORE", "ZREVRANGEBYSCORE":
		return append(append([]string{name, k, d.bound(), d.bound()}, d.limit()...), d.maybe(2, "withscores")...)
	case "ZCOUNT", "ZREMRANGEBYSCORE":
		return []string{name, k, d.bound(), d.bound()}
	}
	return d.otherZSetCommand(name, k)
}

func (d *zsetDraw) zrangeArgs(args []string, more string) []string {
	switch rapid.IntRange(0, 3).Draw(d.T, "by") {
	case 0, 1:
		args = append(args, d.rank(), d.rank())
	default:
		args = append(args, d.bound(), d.bound(), "BYSCORE")
		args = append(args, d.limit()...)
	}
	return append(append(args, d.maybe(2, more)...), d.maybe(3, "REV")...)
}

func (d *zsetDraw) otherZSetCommand(name, k string) []string {
	switch name {
	case "ZUNION", "ZINTER":
		args := append([]string{name}, d.inputs()...)
		args = append(args, d.maybe(3, d.weights(len(args)-2)...)...)
		return append(append(args, d.maybe(3, d.join()...)...), d.maybe(2, "WITHSCORES")...)
	case "ZUNIONSTORE", "ZINTERSTORE":
		args := append([]string{name, k}, d.inputs()...)
		return append(append(args, d.maybe(3, d.join()...)...), d.maybe(3, d.weights(len(args)-3)...)...)
	case "ZDIFF":
		return append(append([]string{name}, d.inputs()...), d.maybe(2, "WITHSCORES")...)
	case "ZDIFFSTORE":
		return append([]string{name, k}, d.inputs()...)
	case "ZINTERCARD":
		return append(append([]string{name}, d.inputs()...), d.maybe(2, "LIMIT", d.rank())...)
	case "ZPOPMIN", "ZPOPMAX":
		return append([]string{name, k}, d.maybe(2, d.rank())...)
	case "ZMPOP":
		args := append([]string{name}, d.inputs()...)
		return append(append(args, rapid.SampledFrom([]string{"MIN", "max", "MID"}).Draw(d.T, "end")), d.maybe(2, "COUNT", d.rank())...)
	case "ZSCAN":
		return append([]string{name, k, "0", "COUNT", "1000"}, d.maybe(2, "MATCH", "*[a-e0-5]*")...)
	case "SADD":
		return []string{name, k, strconv.Itoa(d.step % 7), strconv.Itoa(d.step % 5)} // numbers: 7.0 has no listpacks of sets
	case "SET":
		return []string{name, k, "v"}
	case "OBJECT":
		return []string{name, "ENCODING", k}
	case "RENAME":
		return []string{name, k, d.key()}
	case "COPY":
		return []string{name, k, d.key(), "REPLACE"}
	case "EXPIRE":
		return []string{name, k, "10000"}
	}
	return []string{name, k}
}

// Random commands on sorted sets are answered as redis-server answers them, and leave the same data.
func TestZSetsAreThoseOfRedis(t *testing.T) {
	w := newZSetTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		w.limit(rt, rapid.SampledFrom([]int{0, 5, 20}).Draw(rt, "entries"), rapid.SampledFrom([]int{1, 20, 64}).Draw(rt, "value"))
		w.speak(rt, rapid.SampledFrom([]string{"2", "3"}).Draw(rt, "protocol"))
		d := &zsetDraw{draw: &draw{T: rt}}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			args := d.zsetCommand()
			switch args[0] {
			case "DUMPRESTORE":
				w.exchange(rt, args[1], d.key())
			case "ZSCAN":
				w.unordered(rt, args...)
			default:
				w.compare(rt, args...)
			}
			if w.since72 && args[0] == "ZRANGESTORE" { // 7.2 makes a skiplist of any range of scores
				w.compare(rt, "DEL", args[1])
			}
		}
		for _, k := range []string{"a", "b", "{a}1", "c"} {
			w.compare(rt, "DEBUG", "DIGEST-VALUE", k)
			w.compare(rt, "OBJECT", "ENCODING", k)
			w.exchange(rt, k, k)
		}
		w.compare(rt, "DEBUG", "DIGEST")
	})
}

// exchange gives each server what the other has dumped of a key.
func (w *zsetTwins) exchange(t rapid.TB, from, to string) {
	t.Helper()
	if !w.exchangeDumps(t, from, to) {
		return
	}
	w.compare(t, "DEBUG", "DIGEST-VALUE", to)
	w.compare(t, "OBJECT", "ENCODING", to)
}

// Ranges of members, in sets whose scores are all the same, and in small ones whose scores differ: what Redis finds among many
// depends on the levels that it has drawn.
func TestZSetLexIsThatOfRedis(t *testing.T) {
	w := newZSetTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		entries := rapid.SampledFrom([]int{5, 50}).Draw(rt, "entries")
		w.limit(rt, entries, 64)
		d := &zsetDraw{draw: &draw{T: rt}}
		add, score := []string{"ZADD", "a"}, "0"
		for _, m := range d.members(12) {
			if entries == 50 {
				score = rapid.SampledFrom([]string{"0", "0", "1", "2"}).Draw(rt, "score")
			}
			add = append(add, score, m)
		}
		w.compare(rt, add...)
		for range 10 {
			low, high := d.lexBound(), d.lexBound()
			w.compare(rt, append([]string{"ZRANGEBYLEX", "a", low, high}, d.limit()...)...)
			w.compare(rt, append([]string{"ZREVRANGEBYLEX", "a", low, high}, d.limit()...)...)
			w.compare(rt, append(append([]string{"ZRANGE", "a", low, high, "BYLEX"}, d.maybe(2, "REV")...), d.limit()...)...)
			w.compare(rt, append([]string{"ZRANGESTORE", "b", "a", low, high, "BYLEX"}, d.maybe(2, "REV")...)...)
			w.compare(rt, "ZRANGE", "b", "0", "-1")
			w.compare(rt, "ZLEXCOUNT", "a", low, high)
		}
		w.compare(rt, "ZREMRANGEBYLEX", "a", d.lexBound(), d.lexBound())
		w.compare(rt, "DEBUG", "DIGEST")
	})
}

// What the random commands meet rarely.
func TestZSetErrorsAreThoseOfRedis(t *testing.T) {
	w := newZSetTwins(t)
	w.compare(t, "ZADD", "z", "1", "a", "2", "b", "3", "c")
	w.compare(t, "SET", "s", "v")
	w.compare(t, "SADD", "set", "a", "x")
	for _, line := range []string{
		"ZADD z", "ZADD z 1", "ZADD z 1 a 2", "ZADD z NX XX 1 a", "ZADD z NX GT 1 a", "ZADD z GT LT 1 a", "ZADD z INCR 1 a 2 b",
		"ZADD z NX 1", "ZADD s 1 a", "ZADD z x a", "ZADD z XX CH 5 nosuch", "ZADD no XX 1 a", "ZADD no XX INCR 1 a", "ZADD z INCR inf q",
		"ZADD z INCR -inf q", "ZINCRBY z nan a", "ZINCRBY z 1", "ZINCRBY s 1 a", "ZREM s a", "ZREM z", "ZCARD s", "ZSCORE s a", "ZMSCORE s a",
		"ZMSCORE z", "ZMSCORE no a b", "ZRANK s a", "ZRANK no a", "ZREVRANK no a", "ZRANK z nosuch", "ZRANGE z 0", "ZRANGE z a b", "ZRANGE z 0 -1 X", "ZRANGE s 0 -1",
		"ZRANGE z 0 -1 LIMIT 0 1", "ZRANGE z 0 -1 LIMIT 0 -1", "ZRANGE z 0 -1 BYLEX", "ZRANGE z - + BYLEX WITHSCORES", "ZRANGE z 0 1 BYSCORE BYLEX",
		"ZRANGE z 0 1 REV REV", "ZRANGE z 0 1 BYSCORE LIMIT 1", "ZRANGE z 0 1 BYSCORE LIMIT x 1", "ZRANGE z 0 1 BYSCORE LIMIT 1 x", "ZRANGE no x y BYSCORE",
		"ZREVRANGE z 0 1 REV", "ZREVRANGE z 0 1 BYSCORE", "ZRANGEBYSCORE z 0 1 REV", "ZRANGEBYLEX z a b", "ZRANGEBYLEX z [a", "ZREVRANGEBYLEX z [c [a LIMIT 0 1",
		"ZRANGEBYSCORE z \"\" 5", "ZRANGEBYSCORE z ( 5", "ZRANGEBYSCORE z \" 1\" 5", "ZRANGEBYSCORE z 1e400 5", "ZRANGEBYSCORE z -1e400 1e400",
		"ZRANGEBYSCORE z \"1 \" 5", "ZRANGEBYSCORE z nan 5", "ZRANGEBYSCORE z (nan 5", "ZRANGEBYSCORE z -inf +inf LIMIT -1 2",
		"ZCOUNT z x y", "ZCOUNT s 0 1", "ZLEXCOUNT z a b", "ZLEXCOUNT s - +", "ZLEXCOUNT no - +", "ZREMRANGEBYRANK z x 0", "ZREMRANGEBYRANK s 0 0",
		"ZREMRANGEBYSCORE z x 0", "ZREMRANGEBYLEX z x 0", "ZRANGESTORE d z 0 -1 WITHSCORES", "ZRANGESTORE d s 0 -1", "ZRANGESTORE d no 0 -1",
		"ZRANGESTORE s no 0 -1", "EXISTS s", "SET s v", "ZUNION 0 z", "ZUNION x z", "ZUNION 2 z", "ZUNION 1 s", "ZUNION 1 s X", "ZUNION 1 z X", "ZUNION 1 z WEIGHTS",
		"ZUNION 1 z WEIGHTS x", "ZUNION 1 z AGGREGATE", "ZUNION 1 z AGGREGATE X", "ZUNIONSTORE d 1 z WITHSCORES", "ZDIFF 1 z WEIGHTS 1", "ZDIFF 1 z AGGREGATE SUM",
		"ZDIFFSTORE d 0 z", "ZINTERCARD 1 z LIMIT", "ZINTERCARD 1 z LIMIT -1", "ZINTERCARD 1 z LIMIT x", "ZINTERCARD 1 z LIMIT 0", "ZINTERCARD 0 z",
		"ZINTERCARD 1 z WITHSCORES", "ZINTERCARD 2 z set LIMIT 1", "ZUNION 2 z set WITHSCORES", "ZINTERSTORE d 2 z set", "ZRANGE d 0 -1 WITHSCORES",
		"ZPOPMIN z -1", "ZPOPMIN z x", "ZPOPMIN z 1 2", "ZPOPMIN s", "ZPOPMIN no", "ZPOPMIN no 3", "ZPOPMIN z 0", "ZPOPMIN s 0", "ZMPOP 0 z MIN", "ZMPOP x z MIN", "ZMPOP 1 z",
		"ZMPOP 1 z MID", "ZMPOP 1 z MIN COUNT", "ZMPOP 1 z MIN COUNT 0", "ZMPOP 1 z MIN COUNT 1 COUNT 1", "ZMPOP 1 z MIN X", "ZMPOP 2 no s MIN", "ZMPOP 1 no MIN",
		"ZRANDMEMBER no", "ZRANDMEMBER no 3", "ZRANDMEMBER z x", "ZRANDMEMBER z 0", "ZRANDMEMBER z 3 X", "ZRANDMEMBER z 3 WITHSCORES X", "ZRANDMEMBER s",
		"ZRANDMEMBER z -9223372036854775808", "ZRANDMEMBER z 9223372036854775807 WITHSCORES", "ZRANDMEMBER z -9223372036854775807 WITHSCORES", "ZRANDMEMBER z 10",
		"ZSCAN z x", "ZSCAN s 0", "ZSCAN no 0 X", "ZSCAN z 0 X", "ZSCAN z 0 COUNT 0", "ZSCAN z 0 COUNT x", "ZSCAN z 0 MATCH a*", "ZSCAN z 0 TYPE x", "ZSCAN z 0",
		"BZPOPMIN z x", "BZPOPMIN z -1", "BZPOPMAX s 0", "BZMPOP x 1 z MIN", "BZMPOP 0 0 z MIN", "BZMPOP 0 1 z X", "BZMPOP 0 1 z MIN COUNT 0", "BZPOPMIN z 0", "BZPOPMAX z 0",
		"BZMPOP 0 2 no z MAX COUNT 2", "EXISTS z",
	} {
		t.Run(line, func(t *testing.T) { w.compare(t, splitLine(t, line)...) })
	}
}

// A big sorted set, of which every part of the tree is used.
func TestBigZSetIsThatOfRedis(t *testing.T) {
	w := newZSetTwins(t)
	for i := range 300 {
		args := []string{"ZADD", "z"}
		for j := range 10 {
			n := (i*10 + j) * 7919 % 3000
			args = append(args, strconv.Itoa(n%500), fmt.Sprintf("member:%d", n))
		}
		w.compare(t, args...)
	}
	for i := 0; i < 3000; i += 37 {
		member, rank := fmt.Sprintf("member:%d", i), strconv.Itoa(i)
		w.compare(t, "ZRANK", "z", member)
		w.compare(t, "ZREVRANK", "z", member)
		w.compare(t, "ZRANGE", "z", rank, strconv.Itoa(i+5), "WITHSCORES")
		w.compare(t, "ZREVRANGE", "z", rank, strconv.Itoa(i+50))
		w.compare(t, "ZRANGEBYSCORE", "z", "("+strconv.Itoa(i%500), strconv.Itoa(i%500+20), "LIMIT", "3", "15", "WITHSCORES")
		w.compare(t, "ZREVRANGEBYSCORE", "z", strconv.Itoa(i%500+20), strconv.Itoa(i%500), "LIMIT", "3", "15")
		w.compare(t, "ZCOUNT", "z", strconv.Itoa(i%500), strconv.Itoa(i%300))
		w.compare(t, "ZINCRBY", "z", "100.5", member)
		w.compare(t, "ZADD", "z", "GT", "CH", "250", member)
	}
	w.unordered(t, "ZSCAN", "z", "0", "COUNT", "100000")
	w.compare(t, "ZREMRANGEBYRANK", "z", "100", "900")
	w.compare(t, "ZREMRANGEBYSCORE", "z", "300", "350")
	w.compare(t, "ZUNIONSTORE", "u", "2", "z", "z", "WEIGHTS", "2", "0.5")
	w.compare(t, "ZINTERSTORE", "i", "2", "z", "u", "AGGREGATE", "MIN")
	w.compare(t, "ZDIFFSTORE", "d", "2", "u", "z")
	w.compare(t, "DEBUG", "DIGEST")
	w.exchange(t, "z", "copy")
	w.compare(t, "ZPOPMIN", "z", "500")
	w.compare(t, "ZPOPMAX", "z", "10000")
	w.compare(t, "EXISTS", "z")
}

// With a newer server, what 7.0 does not have: ranks with scores, and the digits of scores.
func TestZSetsOf72(t *testing.T) {
	w := newZSetTwins(t)
	if !w.since72 {
		t.Skip("redis-server is older than 7.2")
	}
	for _, entries := range []int{128, 0} {
		for _, version := range []string{"2", "3"} {
			w.reset(t)
			w.limit(t, entries, 64)
			w.speak(t, version)
			for i, score := range []string{"0.1", "1.1", "-0", "3.14159265358979", "1e17", "1e22", "123456789.987654321", "5e-324", "1.7976931348623157e308", "0.30000000000000004"} {
				w.compare(t, "ZADD", "z", score, strconv.Itoa(i))
				w.compare(t, "ZSCORE", "z", strconv.Itoa(i))
			}
			w.compare(t, "ZRANGE", "z", "0", "-1", "WITHSCORES")
			w.unordered(t, "ZSCAN", "z", "0", "COUNT", "100")
			for _, line := range []string{
				"ZRANK z 3 WITHSCORE", "ZREVRANK z 3 WITHSCORE", "ZRANK z no WITHSCORE", "ZRANK no a WITHSCORE", "ZRANK z 3 X", "ZRANK z 3 WITHSCORE X",
				"ZPOPMIN z", "ZPOPMIN z 2", "ZMPOP 1 z MAX COUNT 2", "ZUNION 1 z WITHSCORES", "ZINCRBY z 0.1 0", "DEBUG DIGEST",
				"ZADD g 1 a 2 b", "ZRANGESTORE d g -inf inf BYSCORE", "ZRANGESTORE d g - + BYLEX",
			} {
				w.compare(t, splitLine(t, line)...)
			}
			w.exchange(t, "z", "z")
		}
	}
}

// ZRANDMEMBER draws members with their scores, as many as it is asked for, and different ones unless the count is negative.
func TestZRandMember(t *testing.T) {
	h := newHarness(t)
	for _, n := range []int{10, 1000} {
		h.args("DEL", "z")
		for i := range n {
			h.args("ZADD", "z", strconv.Itoa(i), fmt.Sprintf("m%d", i))
		}
		for _, count := range []int{1, 3, n / 10, n / 2, n - 1, n, n + 5, -1, -n - 50, -2 * poolMax} {
			h.args("MULTI") // so that a long reply comes at once
			h.args("ZRANDMEMBER", "z", strconv.Itoa(count), "WITHSCORES")
			v := h.args("EXEC").Items[0]
			want := min(count, n)
			if count < 0 {
				want = -count
			}
			if len(v.Items) != 2*want {
				t.Fatalf("%d of %d: %d members, want %d", count, n, len(v.Items)/2, want)
			}
			checkDrawn(t, v, count > 0)
		}
	}
}

func checkDrawn(t *testing.T, v reply.Value, different bool) {
	t.Helper()
	met := map[string]bool{}
	for i := 0; i < len(v.Items); i += 2 {
		member := v.Items[i].Text
		if "m"+v.Items[i+1].Text != member {
			t.Fatalf("%s has the score %s", member, v.Items[i+1].Text)
		}
		if met[member] && different {
			t.Fatalf("%s is drawn twice", member)
		}
		met[member] = true
	}
}
