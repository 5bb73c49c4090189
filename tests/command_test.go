package tests

import (
	"slices"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// What COMMAND, COMMAND DOCS and ACL CAT say is compared leaf by leaf in internal/spec; this test asks the running servers.

// keyLines are command lines whose keys both servers are asked for, with COMMAND GETKEYS and COMMAND GETKEYSANDFLAGS.
var keyLines = []string{
	"GET k", "SET k v", "MGET a b c", "MSET a 1 b 2 c 3", "DEL a b", "RENAME a b", "COPY a b", "OBJECT ENCODING k", "BITOP AND d a b", "LCS a b",
	"SINTERSTORE d a b", "SINTERCARD 2 a b LIMIT 1", "SMOVE a b m", "ZUNIONSTORE d 2 a b WEIGHTS 1 2", "ZINTER 2 a b", "ZDIFF 1 a", "ZRANGESTORE d s 0 1",
	"ZMPOP 2 a b MIN", "LMPOP 1 a LEFT COUNT 2", "BLPOP a b 0", "BLMPOP 0 2 a b LEFT", "BZPOPMIN a b 1", "BRPOPLPUSH a b 0", "LMOVE a b LEFT RIGHT",
	"XREAD COUNT 1 STREAMS a b 0 0", "XREAD STREAMS a 0", "XREADGROUP GROUP g c COUNT 1 STREAMS a b > >", "XADD k * f v", "XGROUP CREATE k g 0", "XINFO STREAM k",
	"EVAL return 1 2 a b c", "EVAL return 1 0 a", "EVALSHA x 1 a", "EVAL_RO return 1 1 k", "FCALL f 2 a b c", "FCALL_RO f 1 a",
	"SORT k BY w_* GET o_* STORE d", "SORT k LIMIT 0 1", "SORT_RO k BY w_*", "GEORADIUS k 1 2 3 m STORE d", "GEORADIUS k 1 2 3 m STOREDIST d", "GEORADIUSBYMEMBER k m 1 km STORE d",
	"GEOSEARCHSTORE d s FROMMEMBER m BYRADIUS 1 km", "MIGRATE h 1 k 0 1", "MIGRATE h 1 \"\" 0 1 KEYS a b", "MIGRATE h 1 \"\" 0 1 COPY AUTH p KEYS a",
	"PFCOUNT a b", "PFMERGE d a b", "WATCH a b", "TOUCH a b", "EXISTS a a", "MEMORY USAGE k", "DUMP k", "RESTORE k 0 x", "SUBSCRIBE c", "PUBLISH c m", "SSUBSCRIBE c", "SPUBLISH c m",
	"PING", "GET", "NOSUCH a", "SET k", "ZUNIONSTORE d 0", "ZUNIONSTORE d x a", "EVAL s 5 a", "EVAL s -1 a", "XREAD STREAMS a", "CLUSTER KEYSLOT k", "DEBUG OBJECT k", "MULTI", "INFO",
	"GETEX k EX 1", "GETDEL k", "SETBIT k 1 1", "BITFIELD k GET u8 0", "BITFIELD k SET u8 0 1", "HRANDFIELD h 1", "LPOS l x", "SINTER a b", "CONFIG GET x", "LATENCY HISTORY x", "SET k v GET", "SET k v EX 1",
}

// keysDiffer are lines that 7.2 answers otherwise than 7.0.
var keysDiffer = []string{"PING", "GET", "MULTI", "INFO"}

func TestKeysOfCommandsAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	ours := testkit.Start(t, testkit.Options{}).Dial(t)
	theirs := testkit.Start(t, testkit.Options{Binary: testkit.Redis(t)}).Dial(t)
	for _, line := range keyLines {
		for _, sub := range []string{"GETKEYS", "GETKEYSANDFLAGS"} {
			words := []string{"COMMAND", sub}
			for _, w := range strings.Fields(line) {
				words = append(words, strings.ReplaceAll(w, `""`, ""))
			}
			have, want := ours.Do(t, words...).String(), theirs.Do(t, words...).String()
			if differs := slices.Contains(keysDiffer, line); (have == want) == differs {
				t.Errorf("%s:\nours   %s\ntheirs %s", strings.Join(words, " "), have, want)
			}
		}
	}
}
