package command

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/covey-db/covey/internal/testkit/reply"
)

func TestScanArguments(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SCAN 0 -> ["0" []]
		SCAN 9223372036854775808 MATCH *11* -> ["0" []]
		SCAN 18446744073709551615 -> ["0" []]
		SCAN 18446744073709551616 -> -ERR invalid cursor
		SCAN abc -> -ERR invalid cursor
		SCAN " 1" -> -ERR invalid cursor
		SCAN 1x -> -ERR invalid cursor
		SCAN + -> -ERR invalid cursor
		SCAN "" -> ["0" []]
		SCAN -1 -> ["0" []]
		SCAN 0 COUNT 0 -> -ERR syntax error
		SCAN 0 COUNT -1 -> -ERR syntax error
		SCAN 0 COUNT x -> -ERR value is not an integer or out of range
		SCAN 0 COUNT -> -ERR syntax error
		SCAN 0 NOSUCH 1 -> -ERR syntax error
		SCAN 0 COUNT 9223372036854775807 -> ["0" []]
		SET a 1
		SCAN 0 -> ["0" ["a"]]
		SCAN 0 TYPE string -> ["0" ["a"]]
		SCAN 0 TYPE STRING MATCH * -> ["0" ["a"]]
		SCAN 0 TYPE hash -> ["0" []]
		SCAN 0 TYPE nosuch -> ["0" []]
	`)
}

// scanAll walks with the given options and returns how often each key came.
func scanAll(h *harness, between func(), options ...string) map[string]int {
	seen := map[string]int{}
	for cursor := "0"; ; between() {
		v := h.args(append([]string{"SCAN", cursor}, options...)...)
		if v.Kind != reply.Array || len(v.Items) != 2 {
			h.t.Fatalf("SCAN: %v", v)
		}
		for _, key := range v.Items[1].Strings() {
			seen[key]++
		}
		if cursor = v.Items[0].Text; cursor == "0" {
			return seen
		}
	}
}

// What is there from start to end is returned, however the keyspace grows and shrinks meanwhile.
func TestScanMeetsEveryKeyThatStays(t *testing.T) {
	h := newHarness(t)
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		h.args("SET", fmt.Sprintf("{%d}stays:%d", i%7, i), "v")
	}
	for _, count := range []string{"1", "10", "100", "5000"} {
		extra := 0
		seen := scanAll(h, func() {
			for range 4 {
				if extra++; extra > 3000 { // what grows for ever is never walked to its end
					return
				}
				h.args("SET", fmt.Sprintf("{%d}extra:%d", dice.IntN(9), extra), "v")
				h.args("DEL", fmt.Sprintf("{%d}extra:%d", dice.IntN(9), dice.IntN(extra)))
			}
		}, "COUNT", count)
		for i := range 3000 {
			if n := seen[fmt.Sprintf("{%d}stays:%d", i%7, i)]; n != 1 {
				t.Fatalf("COUNT %s: key %d came %d times", count, i, n)
			}
		}
	}
}

func TestScanCountIsAboutTheNumberOfKeys(t *testing.T) {
	h := newHarness(t)
	for i := range 1000 {
		h.args("SET", "k"+strconv.Itoa(i), "v")
	}
	v := h.do("SCAN 0 COUNT 100")
	if n := len(v.Items[1].Items); n < 100 || n > 110 {
		t.Fatalf("COUNT 100 returned %d keys", n)
	}
}

func TestScanAndKeysInTransaction(t *testing.T) {
	h := newHarness(t)
	h.script(`
		MULTI
		SET a 1
		SCAN 0
		KEYS *
		DBSIZE
		RANDOMKEY
		FLUSHDB
		DBSIZE
		EXEC -> [+OK ["0" ["a"]] ["a"] :1 "a" +OK :0]
	`)
	h.wantEffects("MULTI", "SELECT 0", "SET a 1", "FLUSHDB", "EXEC")
}

func TestScanRemovesExpiredKeys(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET a 1
		SET b 1 PX 10
		wait 10ms
		KEYS * -> ["a"]
		DBSIZE -> :2
		SCAN 0 MATCH a -> ["0" ["a"]]
		DBSIZE -> :2
		SCAN 0 -> ["0" ["a"]]
		DBSIZE -> :1
	`)
	h.wantEffects("SELECT 0", "SET a 1", "SET b 1 PXAT 1700000000010", "DEL b")
}

func TestKeysWithGlobCharacters(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET a*b 1
		SET a[b 2
		SET axb 3
		KEYS "a\\*b" -> ["a*b"]
		KEYS a[x]b -> ["axb"]
		KEYS a[^x]b -> ["a*b" "a[b"] (any order)
		KEYS a[[]b -> ["a[b"]
		KEYS "a\\[b" -> ["a[b"]
		KEYS a?b -> ["a*b" "axb" "a[b"] (any order)
		KEYS *[ -> []
	`)
}

func TestKeysOfManyIsOneReply(t *testing.T) {
	h := newHarness(t)
	for i := range 20000 {
		h.args("SET", "some-longer-name:"+strconv.Itoa(i), "v")
	}
	if n := len(h.do("KEYS *").Items); n != 20000 {
		t.Fatalf("KEYS * returned %d keys", n)
	}
}

func TestFlush(t *testing.T) {
	for _, mode := range []string{"", " SYNC", " ASYNC", " sync"} {
		h := newHarness(t)
		h.script(`
			SET a 1
			SELECT 2
			SET a 2
			FLUSHDB` + mode + ` -> +OK
			DBSIZE -> :0
			SELECT 0
			DBSIZE -> :1
			FLUSHALL` + mode + ` -> +OK
			DBSIZE -> :0
			FLUSHDB NOW -> -ERR syntax error
			FLUSHALL SYNC ASYNC -> -ERR syntax error
		`)
		h.wantEffects("SELECT 0", "SET a 1", "SELECT 2", "SET a 2", "FLUSHDB"+mode, "SELECT 0", "FLUSHALL"+mode)
	}
}

func TestSwapDB(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET a 0
		SELECT 1
		SET a 1
		SWAPDB 0 1 -> +OK
		GET a -> "0"
		SWAPDB 0 0 -> +OK
		SWAPDB 0 16 -> -ERR DB index is out of range
		SWAPDB x 1 -> -ERR invalid first DB index
		SWAPDB 1 x -> -ERR invalid second DB index
		SELECT 0
		GET a -> "1"
	`)
}

func FuzzParseCursor(f *testing.F) {
	for _, s := range []string{"", "0", "-1", "+7", "18446744073709551615", "18446744073709551616", "99999999999999999999", "x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, ok := parseCursor(b)
		want, err := strconv.ParseUint(string(b), 10, 64)
		if err == nil && (!ok || n != want) {
			t.Fatalf("%q: %d, %v", b, n, ok)
		}
	})
}
