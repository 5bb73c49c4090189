package command

import (
	"testing"

	"github.com/covey-db/covey/internal/config"
)

// Fields whose time is over are removed and told of before a command does anything with the others.
func TestFieldsWhoseTimeIsOverGoFirst(t *testing.T) {
	const twoOver = "HSET h a 1 b 2 c 3\nHPEXPIRE h 1 FIELDS 2 a b\nwait 1s\n"
	const before = "hset h, hexpire h, hexpired h, "
	for _, c := range []struct{ line, then, events string }{
		{"HGETDEL h FIELDS 3 a b c -> [nil nil \"3\"]", "EXISTS h -> :0", "hdel h, del h"},
		{"HGETDEL h FIELDS 2 a c -> [nil \"3\"]", "HLEN h -> :1", "hdel h"},
		{"HGETEX h EX 100 FIELDS 3 a b c -> [nil nil \"3\"]", "HLEN h -> :1", "hexpire h"},
		{"HGETEX h EXAT 1 FIELDS 3 a b c -> [nil nil \"3\"]", "EXISTS h -> :0", "hdel h, del h"},
		{"HGETEX h EX 100 FIELDS 1 c -> [\"3\"]", "HLEN h -> :3", ""},
		{"HSETEX h FNX EX 100 FIELDS 2 a 5 b 6 -> :1", "HLEN h -> :3", "hset h, hexpire h"},
		{"HSETEX h FNX EXAT 1 FIELDS 2 a 5 b 6 -> :1", "HLEN h -> :1", "hset h, hdel h"},
		{"HSETEX h FNX KEEPTTL FIELDS 1 a 5 -> :1", "HTTL h FIELDS 1 a -> [:-1]", "hset h"},
	} {
		for _, entries := range []int64{100, 0} {
			h := newHarness(t)
			h.e.Settings.Encoding.HashEntries.Store(entries)
			h.e.SetEvents(config.EventKeyevent | config.EventAll)
			want := before + c.events
			if c.events == "" {
				want = "hset h, hexpire h, hexpire h" // nothing of what is over was met
			}
			if got := heard(h, twoOver+c.line+"\n"+c.then); got != want {
				t.Errorf("%s:\n  %s\nwant\n  %s", c.line, got, want)
			}
		}
	}
}

// A condition of HSETEX that fails leaves those fields removed that it met until then.
func TestConditionsLookAtFieldsInOrder(t *testing.T) {
	for _, c := range []struct {
		line string
		left string
	}{
		{"HSETEX h FXX FIELDS 3 c 1 b 2 a 3 -> :0", ":2"},
		{"HSETEX h FXX FIELDS 1 a 3 -> :0", ":2"},
		{"HSETEX h FNX FIELDS 3 a 1 b 2 c 3 -> :0", ":1"},
		{"HSETEX h FNX FIELDS 2 c 1 a 1 -> :0", ":3"},
	} {
		h := newHarness(t)
		h.script("HSET h a 1 b 2 c 3\nHPEXPIRE h 1 FIELDS 2 a b\nwait 1s\n" + c.line)
		h.want("HLEN h", c.left)
	}
	h := newHarness(t)
	h.script(`
		HSET h a 1
		HPEXPIRE h 1 FIELDS 1 a
		wait 1s
		HSETEX h FXX FIELDS 1 a 1 -> :0
		EXISTS h -> :0
	`)
}

// A key that HSETEX makes is new before it is written to, even if nothing stays of it.
func TestHSetExTellsOfNewKeys(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"HSETEX h FIELDS 1 a 1", "new h, hset h"},
		{"HSETEX h EX 100 FIELDS 2 a 1 b 2", "new h, hset h, hexpire h"},
		{"HSETEX h FNX KEEPTTL FIELDS 1 a 1", "new h, hset h"},
		{"HSETEX h EXAT 1 FIELDS 2 a 1 b 2", "new h, hset h, hdel h, del h"},
		{"HSETEX h FXX EX 100 FIELDS 1 a 1", ""},
	} {
		h := newHarness(t)
		h.e.SetEvents(config.EventKeyevent | config.EventAll | config.EventNew)
		if got := heard(h, c.line); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
}

// Changes are counted as Redis 8.0 counts them.
func TestChangesOfFieldExpiryAreCounted(t *testing.T) {
	h := newHarness(t)
	h.do("HSET h a 1 b 2 c 3 d 4")
	for _, c := range []struct {
		line string
		want int64
	}{
		{"HEXPIRE h 100 FIELDS 3 a b x", 2},
		{"HPERSIST h FIELDS 2 a b", 1},
		{"HGETEX h EX 100 FIELDS 2 a b", 2},
		{"HGETEX h PERSIST FIELDS 2 a b", 2},
		{"HSETEX h FIELDS 2 a 1 b 2", 2},
		{"HSETEX h EX 100 FIELDS 2 a 1 b 2", 2},
		{"HSETEX h KEEPTTL FIELDS 2 a 1 b 2", 2},
		{"HSETEX h FNX FIELDS 1 a 1", 0},
		{"HSETEX h EXAT 1 FIELDS 2 a 1 b 2", 2},
		{"HGETEX h EXAT 1 FIELDS 1 c", 1},
		{"HGETDEL h FIELDS 2 c d", 1},
	} {
		before := h.e.Stats.Dirty.Load()
		h.do(c.line)
		if got := h.e.Stats.Dirty.Load() - before; got != c.want {
			t.Errorf("%s: %d changes, want %d", c.line, got, c.want)
		}
	}
}

// The greatest expiry is the one of Redis, and survives DUMP in both encodings.
func TestGreatestFieldExpiry(t *testing.T) {
	for _, entries := range []int64{100, 0} {
		h := newHarness(t)
		h.e.Settings.Encoding.HashEntries.Store(entries)
		h.script(`
			HSET h a 1
			HPEXPIREAT h 70368744177663 FIELDS 1 a -> [:1]
			HPEXPIREAT h 70368744177664 FIELDS 1 a -> -ERR invalid expire time in 'hpexpireat' command
			HGETEX h PXAT 70368744177663 FIELDS 1 a -> ["1"]
			HGETEX h PXAT 70368744177664 FIELDS 1 a -> -ERR invalid expire time in 'hgetex' command
			HSETEX h PXAT 70368744177663 FIELDS 1 a 2 -> :1
			HSETEX h EXAT 70368744178 FIELDS 1 a 2 -> -ERR invalid expire time in 'hsetex' command
			HSETEX h PX 9223372036854775807 FIELDS 1 a 2 -> -ERR invalid expire time in 'hsetex' command
			HPEXPIRETIME h FIELDS 1 a -> [:70368744177663]
		`)
		h.args("RESTORE", "again", "0", h.do("DUMP h").Text)
		h.want("HPEXPIRETIME again FIELDS 1 a", "[:70368744177663]")
	}
}

// HSETEX takes as many fields and values as it says, and says so as Redis does.
func TestHSetExCountsItsFields(t *testing.T) {
	h := newHarness(t)
	for _, rest := range []string{"", "FIELDS", "FIELDS 1", "FIELDS 1 a", "FIELDS 2 a 1", "FIELDS 1 a 1 b", "FIELDS 1 a 1 b 2", "FIELDS 1 a 1 EX 100", "FIELDS 1 a 1 FNX"} {
		h.want("HSETEX h EX 1 "+rest, "-ERR wrong number of arguments for 'hsetex' command")
	}
	for _, n := range []string{"0", "-1", "x", "2147483648", "4611686018427387904"} {
		h.want("HSETEX h EX 1 FIELDS "+n+" a 1", "-ERR invalid number of fields")
	}
}
