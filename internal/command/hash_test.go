package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

func TestHashes(t *testing.T) {
	h := newHarness(t)
	h.script(`
		HSET h a 1 b two -> :2
		HSET h a 2 -> :0
		HSET h a -> -ERR wrong number of arguments...
		HMSET h c 3 -> +OK
		HSETNX h c 4 -> :0
		HSETNX h d 4 -> :1
		HGET h a -> "2"
		HGET h x -> nil
		HMGET h a x b -> ["2" nil "two"]
		HMGET none a -> [nil]
		HLEN h -> :4
		HSTRLEN h b -> :3
		HSTRLEN h x -> :0
		HEXISTS h b -> :1
		HEXISTS h x -> :0
		HGETALL h -> ["a" "2" "b" "two" "c" "3" "d" "4"]
		HKEYS h -> ["a" "b" "c" "d"]
		HVALS h -> ["2" "two" "3" "4"]
		HINCRBY h a 40 -> :42
		HINCRBY h b 1 -> -ERR hash value is not an integer...
		HINCRBY h a 9223372036854775807 -> -ERR increment or decrement would overflow...
		HINCRBYFLOAT h a 0.5 -> "42.5"
		HINCRBYFLOAT h b 1 -> -ERR hash value is not a float...
		HINCRBYFLOAT h a inf -> -ERR value is NaN or Infinity...
		OBJECT ENCODING h -> "listpack"
		HDEL h a b x -> :2
		HDEL h c d -> :2
		EXISTS h -> :0
		SET s 1
		HGET s a -> -WRONGTYPE...
		HSET s a 1 -> -WRONGTYPE...
		HSCAN h 0 -> ["0" []]
		HSET h a 1 b 2
		HSCAN h 0 NOVALUES -> ["0" ["a" "b"]]
		HSCAN h 0 MATCH b -> ["0" ["b" "2"]]
		HRANDFIELD none 3 -> []
		HRANDFIELD h 0 -> []
		HRANDFIELD h 3 WITHVALUES -> ["a" "1" "b" "2"]
		HRANDFIELD h 3 x -> -ERR syntax error...
	`)
	h.effects()
	h.do("HINCRBYFLOAT h a 0.25")
	h.do("HDEL h x")
	h.wantEffects("HSET h a 1.25")
}

func TestHashesBecomeTables(t *testing.T) {
	h := newHarness(t)
	h.e.Settings.Encoding.HashEntries.Store(4)
	h.script(`
		HSET h a 1 b 2 c 3 d 4
		OBJECT ENCODING h -> "listpack"
		HSET h e 5
		OBJECT ENCODING h -> "hashtable"
		HDEL h a b c d -> :4
		OBJECT ENCODING h -> "hashtable"
		HGETALL h -> ["e" "5"]
		COPY h h2 -> :1
		HGETALL h2 -> ["e" "5"]
		OBJECT ENCODING h2 -> "hashtable"
	`)
	h.do("HSET long f " + strings.Repeat("x", 65))
	h.want("OBJECT ENCODING long", `"hashtable"`)
	for i := range 3000 {
		h.args("HSET", "big", fmt.Sprint("field", i), fmt.Sprint(i))
	}
	h.want("HLEN big", ":3000")
	h.want("HGET big field1234", `"1234"`)
	h.want("DEL big", ":1")
}

func TestFieldsExpire(t *testing.T) {
	for _, entries := range []int64{100, 0} {
		h := newHarness(t)
		h.e.Settings.Encoding.HashEntries.Store(entries)
		h.script(`
			HSET h a 1 b 2 c 3 d 4
			HEXPIRE h 10 FIELDS 2 a x -> [:1 :-2]
			HPEXPIRE h 20000 NX FIELDS 2 a b -> [:0 :1]
			HEXPIRE h 5 GT FIELDS 3 a b c -> [:0 :0 :0]
			HEXPIRE h 30 LT FIELDS 2 a c -> [:0 :1]
			HEXPIRE h 40 XX FIELDS 2 c d -> [:1 :0]
			HTTL h FIELDS 5 a b c d x -> [:10 :20 :40 :-1 :-2]
			HPTTL h FIELDS 1 b -> [:20000]
			HEXPIRETIME h FIELDS 1 a -> [:1700000010]
			HPEXPIRETIME h FIELDS 1 b -> [:1700000020000]
			HTTL none FIELDS 2 a b -> [:-2 :-2]
			HPERSIST h FIELDS 3 c d x -> [:1 :-1 :-2]
			wait 10s
			HLEN h -> :4
			HGETALL h -> ["b" "2" "c" "3" "d" "4"] (any order)
			HTTL h FIELDS 1 a -> [:-2]
			HGET h a -> nil
			HLEN h -> :3
			HEXPIRE h 0 FIELDS 1 d -> [:2]
			HLEN h -> :2
			HSET h b 5 -> :0
			HTTL h FIELDS 1 b -> [:-1]
			HEXPIRE h 10 FIELDS 1 c -> [:1]
			HINCRBY h c 1 -> :4
			HINCRBYFLOAT h c 0.5 -> "4.5"
			HTTL h FIELDS 1 c -> [:10]
			HEXPIRE h -1 FIELDS 1 c -> -ERR invalid expire time, must be >= 0...
			HEXPIRE h 70368744177664 FIELDS 1 c -> -ERR invalid expire time in 'hexpire' command...
			HEXPIRE h x FIELDS 1 c -> -ERR value is not an integer or out of range...
			HEXPIRE h 1 FIELD 1 c -> -ERR Mandatory argument FIELDS is missing or not at the right position...
			HEXPIRE h 1 FIELDS 0 c -> -ERR Parameter ` + "`numFields`" + ` should be greater than 0...
			HEXPIRE h 1 FIELDS 2 c -> -ERR The ` + "`numfields`" + ` parameter must match the number of arguments...
		`)
		if entries > 0 {
			h.want("OBJECT ENCODING h", `"listpackex"`)
		} else {
			h.want("OBJECT ENCODING h", `"hashtable"`)
		}
	}
}

func TestFieldsExpireByThemselves(t *testing.T) {
	for _, entries := range []int64{1000, 0} {
		h := newHarness(t)
		h.e.Settings.Encoding.HashEntries.Store(entries)
		w := h.e.NewWorker()
		cycle := func() {
			for more := true; more; {
				_, more = h.e.ExpireCycle(w)
			}
		}
		for i := range 600 {
			h.args("HSET", "h", fmt.Sprint("f", i), "v")
			h.args("HPEXPIRE", "h", fmt.Sprint(1000+i), "FIELDS", "1", fmt.Sprint("f", i))
		}
		h.script(`
			HSET h stays 1
			HSET gone a 1 b 2
			HEXPIRE gone 1 FIELDS 2 a b
			RENAME h moved
			COPY moved copied
		`)
		h.effects()
		cycle()
		h.want("HLEN moved", ":601")
		h.clock.Advance(1100 * time.Millisecond)
		cycle()
		h.want("HLEN moved", ":500")
		h.want("HLEN copied", ":500")
		h.want("EXISTS gone", ":0")
		removals := 0
		for _, line := range h.effects() {
			if strings.HasPrefix(line, "HDEL ") {
				removals++
			}
		}
		if removals != 101+101+2 {
			t.Errorf("%d removals were logged", removals)
		}
		h.clock.Advance(time.Minute)
		cycle()
		h.want("HGETALL moved", `["stays" "1"]`)
		h.want("HGETALL copied", `["stays" "1"]`)
		if n := h.e.Stats.ExpiredFields.Load(); n != 1202 {
			t.Errorf("%d fields were counted as expired", n)
		}
		w.Drop()
	}
}

func TestFieldExpiryIsLogged(t *testing.T) {
	h := newHarness(t)
	h.do("HSET h a 1 b 2 c 3")
	h.effects()
	for _, c := range []struct {
		line string
		want []string
	}{
		{"HEXPIRE h 10 FIELDS 2 a x", []string{"HPEXPIREAT h 1700000010000 FIELDS 1 a"}},
		{"HPEXPIRE h 10 NX FIELDS 2 a b", []string{"HPEXPIREAT h 1700000000010 NX FIELDS 1 b"}},
		{"HEXPIREAT h 1 FIELDS 1 c", []string{"HDEL h c"}},
		{"HPERSIST h FIELDS 2 a x", []string{"HPERSIST h FIELDS 1 a"}},
		{"HPERSIST h FIELDS 1 a", nil},
		{"HSETEX h EX 1 FIELDS 1 d 4", []string{"MULTI", "HSET h d 4", "HPEXPIREAT h 1700000001000 FIELDS 1 d", "EXEC"}},
		{"HGETEX h PX 1 FIELDS 2 d x", []string{"HPEXPIREAT h 1700000000001 FIELDS 1 d"}},
		{"HGETEX h FIELDS 1 d", nil},
		{"HGETEX h PERSIST FIELDS 1 d", []string{"HPERSIST h FIELDS 1 d"}},
		{"HGETDEL h FIELDS 2 d x", []string{"HDEL h d"}},
		{"HSETEX h EXAT 1 FIELDS 2 d 1 e 2", []string{"HDEL h d e"}},
		{"HSETEX none EXAT 1 FIELDS 1 d 1", []string{"HDEL none d"}},
		{"HINCRBYFLOAT h b 1", []string{"MULTI", "HSET h b 3", "HPEXPIREAT h 1700000000010 FIELDS 1 b", "EXEC"}},
	} {
		h.do(c.line)
		h.wantEffects(c.want...)
	}
	h.clock.Advance(time.Second)
	h.want("HMGET h a b", `["1" nil]`)
	h.wantEffects("HDEL h b")
	h.do("HPEXPIRE h 5 FIELDS 1 a")
	h.effects()
	h.clock.Advance(time.Second)
	h.want("HINCRBY h a 1", ":1")
	h.wantEffects("MULTI", "HDEL h a", "HINCRBY h a 1", "EXEC")
}

func TestFieldsOfRedis8(t *testing.T) {
	h := newHarness(t)
	h.script(`
		HSETEX h EX 10 FIELDS 2 a 1 b 2 -> :1
		HTTL h FIELDS 2 a b -> [:10 :10]
		HSETEX h FNX FIELDS 1 a 5 -> :0
		HSETEX h FXX KEEPTTL FIELDS 1 a 5 -> :1
		HTTL h FIELDS 1 a -> [:10]
		HSETEX h FIELDS 1 a 6 -> :1
		HTTL h FIELDS 1 a -> [:-1]
		HSETEX h FXX FIELDS 2 a 1 x 2 -> :0
		HSETEX h FNX FXX FIELDS 1 a 1 -> -ERR Only one of FXX or FNX arguments can be specified...
		HSETEX h EX 1 KEEPTTL FIELDS 1 a 1 -> -ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified...
		HSETEX h zz 1 FIELDS 1 a 1 -> -ERR unknown argument: zz...
		HGETEX h EX 20 FIELDS 2 a x -> ["6" nil]
		HTTL h FIELDS 1 a -> [:20]
		HGETEX h PERSIST FIELDS 1 a -> ["6"]
		HTTL h FIELDS 1 a -> [:-1]
		HGETEX none FIELDS 1 a -> [nil]
		HGETEX h EXAT 1 FIELDS 1 b -> ["2"]
		HEXISTS h b -> :0
		HGETDEL h FIELDS 2 a x -> ["6" nil]
		EXISTS h -> :0
		HGETDEL none FIELDS 1 a -> [nil]
		HSETEX h EXAT 1 FIELDS 1 a 1 -> :1
		EXISTS h -> :0
	`)
}

// TestExpiringFieldsAreSaved dumps hashes with fields that expire and restores them, in both encodings.
func TestExpiringFieldsAreSaved(t *testing.T) {
	for _, entries := range []int64{100, 0} {
		h := newHarness(t)
		h.e.Settings.DebugAllowed.Store(engine.AllowAll)
		h.e.Settings.Encoding.HashEntries.Store(entries)
		h.script(`
			HSET h a 1 b 2 c three
			HEXPIRE h 100 FIELDS 1 a
			HEXPIRE h 50 FIELDS 1 c
		`)
		dump := h.do("DUMP h").Text
		if version := dump[len(dump)-10]; dump[0] != 24 || version != 12 {
			t.Errorf("the payload has form %d and version %d", dump[0], version)
		}
		h.args("RESTORE", "again", "0", dump)
		h.want("HTTL again FIELDS 3 a b c", "[:100 :-1 :50]")
		h.want("HVALS again", `["1" "2" "three"] (any order)`)
		if a, b := h.do("DEBUG DIGEST-VALUE h"), h.do("DEBUG DIGEST-VALUE again"); a.Items[0].Text != b.Items[0].Text {
			t.Error("the digests differ")
		}
		if a, b := h.do("OBJECT ENCODING h"), h.do("OBJECT ENCODING again"); a.Text != b.Text {
			t.Errorf("%s became %s", a, b)
		}
		h.clock.Advance(time.Minute)
		w := h.e.NewWorker()
		h.e.ExpireCycle(w)
		w.Drop()
		h.want("HLEN again", ":2")
		h.want("HPERSIST h FIELDS 1 a", "[:1]")
		if dump := h.do("DUMP h").Text; dump[0] != 4 || dump[len(dump)-10] != 10 {
			t.Error("without fields that expire the payload needs a new server")
		}
	}
}

// Texts without a byte stay texts where they are drawn again and again.
func TestDrawnEmptyTexts(t *testing.T) {
	h := newHarness(t)
	h.args("HSET", "h", "", "")
	h.args("ZADD", "z", "1", "")
	for _, words := range [][]string{{"HRANDFIELD", "h", "-5000", "WITHVALUES"}, {"ZRANDMEMBER", "z", "-5000"}} {
		all := h.args(words...).Strings()
		if len(all) < 5000 || slices.Max(all) != "" {
			t.Errorf("%s: %d texts", words, len(all))
		}
	}
}
