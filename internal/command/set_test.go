package command

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// many is a command that gives a set so many members.
func many(key, format string, n int) string {
	var b strings.Builder
	b.WriteString("SADD " + key)
	for i := range n {
		fmt.Fprintf(&b, " "+format, i)
	}
	return b.String()
}

func setPaths() []hotPath {
	big := many("s", "member:%06d", 2000)
	return []hotPath{
		{"sadd to a hashtable, there", false, []string{big}, []string{"SADD", "s", "member:000500"}},
		{"sadd to a listpack, there", false, []string{"SADD s a b c d e f"}, []string{"SADD", "s", "f"}},
		{"sadd to an intset, there", false, []string{"SADD s 1 2 3 4 5"}, []string{"SADD", "s", "5"}},
		{"sadd and srem, hashtable", false, []string{big}, []string{"SMOVE", "s", "s2", "no"}},
		{"sismember, hashtable", false, []string{big}, []string{"SISMEMBER", "s", "member:000500"}},
		{"smismember, listpack", false, []string{many("s", "m%d", 100)}, []string{"SMISMEMBER", "s", "m99", "m50", "no"}},
		{"smembers, intset", false, []string{many("s", "%d", 100)}, []string{"SMEMBERS", "s"}},
		{"smembers, hashtable", false, []string{big}, []string{"SMEMBERS", "s"}},
		{"srandmember, hashtable", false, []string{big}, []string{"SRANDMEMBER", "s"}},
		{"srandmember 5, listpack", false, []string{many("s", "m%d", 100)}, []string{"SRANDMEMBER", "s", "5"}},
		{"sscan, hashtable", false, []string{big}, []string{"SSCAN", "s", "0"}},
		{"sinter, hashtable and intset", false, []string{many("s", "%d", 2000), many("s2", "%d", 10)}, []string{"SINTER", "s", "s2"}},
		{"sinter, listpacks", false, []string{many("s", "m%d", 100), many("s2", "m%d", 100)}, []string{"SINTER", "s", "s2"}},
		{"sintercard, hashtables", false, []string{big, many("s2", "member:%05d", 1500)}, []string{"SINTERCARD", "2", "s", "s2", "LIMIT", "5"}},
		{"sunion, intsets", false, []string{many("s", "%d", 100), many("s2", "1%d", 100)}, []string{"SUNION", "s", "s2"}},
		{"sdiffstore, listpacks", false, []string{many("s", "m%d", 100), many("s2", "m1%d", 10)}, []string{"SDIFFSTORE", "d", "s", "s2"}},
	}
}

func TestSetPathsAllocateNothing(t *testing.T) {
	for _, p := range setPaths() {
		t.Run(p.name, func(t *testing.T) {
			if n := testing.AllocsPerRun(200, newHot(t, p)); n != 0 {
				t.Errorf("%v allocations a command", n)
			}
		})
	}
}

func BenchmarkSet(b *testing.B) {
	for _, p := range setPaths() {
		b.Run(p.name, func(b *testing.B) {
			run := newHot(b, p)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

// encoded is a line as a client sends it.
func encoded(line string) []byte { return resp.AppendCommand(nil, bytes.Fields([]byte(line))...) }

// A member comes and goes: what SADD, SREM and SPOP cost with no room made for more than one.
func BenchmarkSetChange(b *testing.B) {
	for _, c := range []struct{ name, before, add, remove string }{
		{"intset", many("s", "%d", 100), "SADD s 50000", "SREM s 50000"},
		{"listpack", many("s", "m%d", 100), "SADD s new", "SREM s new"},
		{"hashtable", many("s", "member:%06d", 2000), "SADD s new", "SREM s new"},
		{"new key", "SADD s1 a", "SADD s a", "SREM s a"},
		{"spop", many("s", "member:%06d", 2000), "SADD s new", "SPOP s"},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := newHarness(b)
			h.e.LockAll()
			h.e.Log.Stop()
			h.e.UnlockAll()
			h.do(c.before)
			one, two := encoded(c.add), encoded(c.remove)
			b.ReportAllocs()
			for b.Loop() {
				h.s.Process(h.w, one)
				h.s.Process(h.w, two)
				h.w.Out.Reset()
			}
		})
	}
}

// A set goes over from an intset to a listpack and to a hashtable at the limits of the configuration.
func TestEncodingsOfSets(t *testing.T) {
	newHarness(t).script(`
		` + many("i", "%d", 512) + ` -> :512
		OBJECT ENCODING i -> "intset"
		SADD i 512 -> :1
		OBJECT ENCODING i -> "hashtable"
		` + many("l", "m%d", 128) + ` -> :128
		OBJECT ENCODING l -> "listpack"
		SADD l x -> :1
		OBJECT ENCODING l -> "hashtable"
		` + many("n", "%d", 127) + ` -> :127
		SADD n x -> :1
		OBJECT ENCODING n -> "listpack"
		` + many("o", "%d", 128) + ` -> :128
		SADD o x -> :1
		OBJECT ENCODING o -> "hashtable"
		SADD p ` + strings.Repeat("x", 64) + ` -> :1
		OBJECT ENCODING p -> "listpack"
		SADD p ` + strings.Repeat("x", 65) + ` -> :1
		OBJECT ENCODING p -> "hashtable"
		COPY p q -> :1
		OBJECT ENCODING q -> "hashtable"
		SREM p ` + strings.Repeat("x", 65) + ` ` + strings.Repeat("x", 64) + ` -> :2
		EXISTS p -> :0
		SUNIONSTORE u l l -> :129
		OBJECT ENCODING u -> "hashtable"
		SINTERSTORE v i i -> :513
		OBJECT ENCODING v -> "hashtable"
		SREM i 512 -> :1
		SINTERSTORE v i i -> :512
		OBJECT ENCODING v -> "intset"
		SDIFFSTORE v l no -> :129
		SDIFFSTORE v v v -> :0
		EXISTS v -> :0
	`)
}

// SPOP is logged as what it took; who takes all removes the key.
func TestEffectsOfSPop(t *testing.T) {
	h := newHarness(t)
	h.do(many("s", "member:%06d", 3000))
	h.do("EXPIRE s 1000")
	h.effects()
	for _, count := range []int{0, 1, 10, 1500, 1480} {
		v := h.do("SPOP s " + strconv.Itoa(count))
		taken := map[string]bool{}
		for _, m := range v.Strings() {
			taken[m] = true
		}
		logged := 0
		for _, line := range h.effects() {
			words := strings.Fields(line)
			if words[0] == "SELECT" || words[0] == "MULTI" || words[0] == "EXEC" {
				continue
			}
			if words[0] != "SREM" || len(words) > popBatch+2 {
				t.Fatalf("SPOP %d is logged as %s with %d words", count, words[0], len(words))
			}
			for _, m := range words[2:] {
				if !taken[m] {
					t.Fatalf("%s was not taken", m)
				}
				logged++
			}
		}
		if logged != count || len(taken) != count {
			t.Fatalf("%d of %d are logged", logged, count)
		}
	}
	h.want("OBJECT ENCODING s", `"listpack"`)
	h.want("TTL s", ":1000")
	h.want("SPOP s 100", "[any any any any any any any any any]")
	h.wantEffects("DEL s")
	h.want("SPOP s", "nil")
	h.script(`
		SADD t a
		SPOP t -> "a"
		EXISTS t -> :0
	`)
	h.wantEffects("SADD t a", "SREM t a")
}

// Every member that stays is met by SSCAN once, whatever comes and goes.
func TestSScanMeetsWhatStays(t *testing.T) {
	h := newHarness(t)
	h.do(many("s", "stay:%06d", 3000))
	met := map[string]int{}
	cursor, round := "0", 0
	for {
		v := h.do("SSCAN s " + cursor + " COUNT 20")
		for _, m := range v.Items[1].Strings() {
			met[m]++
		}
		for i := range 40 {
			h.do(fmt.Sprintf("SADD s come:%d:%d", round, i))
			h.do(fmt.Sprintf("SREM s come:%d:%d", round-1, i))
		}
		round++
		if cursor = v.Items[0].Text; cursor == "0" {
			break
		}
	}
	for i := range 3000 {
		if m := fmt.Sprintf("stay:%06d", i); met[m] != 1 {
			t.Fatalf("%s was met %d times", m, met[m])
		}
	}
}

// Replies have the types of the protocol.
func TestRepliesOfSetsInRESP3(t *testing.T) {
	h := newHarness(t)
	h.do("HELLO 3")
	h.do("SADD s a")
	for line, kind := range map[string]reply.Kind{
		"SMEMBERS s": reply.Set, "SINTER s s": reply.Set, "SUNION s": reply.Set, "SDIFF s no": reply.Set, "SPOP no 1": reply.Set,
		"SMEMBERS no": reply.Set, "SRANDMEMBER s 1": reply.Array, "SRANDMEMBER no 1": reply.Array, "SMISMEMBER s a": reply.Array,
		"SPOP no": reply.Null, "SRANDMEMBER no": reply.Null,
	} {
		if v := h.do(line); v.Kind != kind {
			t.Errorf("%s: %v", line, v)
		}
	}
}

func TestMembersByChanceAreAllLikely(t *testing.T) {
	for _, format := range []string{"%d", "m%d", strings.Repeat("x", 65) + "%d"} {
		h := newHarness(t)
		*h.w.Dice() = 7
		h.do(many("s", format, 20))
		hits := map[string]int{}
		for range 400 {
			for _, line := range []string{"SRANDMEMBER s 3", "SRANDMEMBER s -3", "SRANDMEMBER s 12"} {
				for _, m := range h.do(line).Strings() {
					hits[m]++
				}
			}
		}
		if len(hits) != 20 {
			t.Fatalf("%d members", len(hits))
		}
		for m, n := range hits { // 360 each, give or take 18
			if n < 270 || n > 450 {
				t.Errorf("%s was drawn %d times", m, n)
			}
		}
	}
}

// A big set goes in slices, and its memory comes back.
func TestBigSetIsFreed(t *testing.T) {
	h := newHarness(t)
	for i := range 50 {
		h.do(many("s", "member:"+strconv.Itoa(i)+":%d", 1000))
	}
	h.want("SCARD s", ":50000")
	h.want("SINTERSTORE d s s", ":50000")
	h.want("DEL s", ":1")
	h.want("SET d v", "+OK")
}

// A reply of any length is sent in slices, between which others are served.
func TestManyMembersWithRepetition(t *testing.T) {
	h := newHarness(t)
	h.do("SADD s a b c")
	const n = 300_000
	h.send("SRANDMEMBER", "s", strconv.Itoa(-n))
	if size := h.out.Len(); size > sliceBytes+100 {
		t.Fatalf("%d bytes at once", size)
	}
	other := h.client()
	other.want("DEL s", ":1")
	for h.out.Len() < n*7 {
		(<-h.posted)(h.w)
		h.collect()
	}
	v := h.read()
	hits := map[string]int{}
	for _, m := range v.Strings() {
		hits[m]++
	}
	if len(v.Items) != n || len(hits) != 3 || hits["a"] < n/4 {
		t.Fatalf("%d members: %v", len(v.Items), hits)
	}
	h.want("PING", "+PONG")
}

// Where a reply cannot be sent in slices, a number that the client only claims is refused: no output limit holds there.
func TestDrawnReplyInATransactionIsBounded(t *testing.T) {
	const tooLong = "-ERR reply is too long for a transaction or a script"
	h := newHarness(t)
	h.e.Settings.OutputLimits[0].HardBytes.Store(100_000)
	h.do("SADD s{t} a b c")
	h.do("HSET h{t} f v g w")
	h.do("ZADD z{t} 1 a 2 b")
	for _, line := range []string{"SRANDMEMBER s{t} %d", "HRANDFIELD h{t} %d", "HRANDFIELD h{t} %d WITHVALUES", "ZRANDMEMBER z{t} %d WITHSCORES"} {
		claimed, real := fmt.Sprintf(line, -1_000_000_000), fmt.Sprintf(line, -50_000)
		h.want("MULTI", "+OK")
		h.want(claimed, "+QUEUED")
		h.want(real, "+QUEUED")
		v := h.do("EXEC")
		if len(v.Items) != 2 || v.Items[0].String() != tooLong || len(v.Items[1].Items) < 50_000 {
			t.Errorf("%s: %d replies, the first %.100s", line, len(v.Items), v.Items[0])
		}
		words := strings.Fields(claimed)
		script := "return redis.pcall('" + strings.Join(words, "','") + "')"
		if v := h.args("EVAL", script, "1", words[1]); v.String() != tooLong {
			t.Errorf("%s in a script: %.100s", claimed, v)
		}
		script = strings.Replace(strings.ReplaceAll(script, "-1000000000", "-50000"), "return ", "return #", 1)
		if v := h.args("EVAL", script, "1", words[1]); v.Int < 50_000 {
			t.Errorf("%s in a script: %.100s", real, v)
		}
	}
	h.want("PING", "+PONG")
}

// What a command removes that does not say so is logged as lazyfree-lazy-server-del wants it.
func TestServerDeletesAreLoggedAsConfigured(t *testing.T) {
	h := newHarness(t)
	h.do("SADD s a b")
	dump := h.do("DUMP s").Text
	h.e.Settings.LazyServerDel.Store(true)
	h.effects()
	h.want("SPOP s 2", "[any any]")
	h.do("SET s v")
	if v := h.args("RESTORE", "s", "1000", dump, "REPLACE", "ABSTTL"); v.Text != "OK" {
		t.Fatal(v)
	}
	h.wantEffects("UNLINK s", "SET s v", "UNLINK s")
}
