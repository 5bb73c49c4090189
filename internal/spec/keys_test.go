package spec

import (
	"fmt"
	"strings"
	"testing"
)

// keyCases are command lines with the answer of COMMAND GETKEYSANDFLAGS: key:flags in their order, or an error. The reference
// test sends the same lines to a Redis server.
var keyCases = []struct{ words, want string }{
	{"GET k", "k:RO access"},
	{"GET", "Invalid number of arguments specified for command"},
	{"PING", "The command has no key arguments"},
	{"PING k", "The command has no key arguments"},
	{"nosuch a", "Invalid command specified"},
	{"CONFIG nosuch a", "Invalid command specified"},
	{"CONFIG GET a", "The command has no key arguments"},
	{"SPUBLISH c m", "The command has no key arguments"},
	{"OBJECT ENCODING k", "k:RO"},
	{"object freq k", "k:RO"},
	{"OBJECT ENCODING", "Invalid number of arguments specified for command"},
	{"XINFO STREAM s FULL", "s:RO access"},
	{"XGROUP CREATE s g $", "s:RW insert"},
	{"MEMORY USAGE k", "k:RO"},

	{"SET k v", "k:OW update"},
	{"SET k v GET", "k:RW access update"},
	{"SET k get EX 5", "k:OW update"},
	{"SET get v", "get:OW update"},
	{"SET k v EX 5 gEt", "k:RW access update"},
	{"SET k v EX get", "k:RW access update"},
	{"BITFIELD k", "k:RO access"},
	{"BITFIELD k GET u8 0", "k:RO access"},
	{"BITFIELD k OVERFLOW SAT GET u8 0 get i8 8", "k:RO access"},
	{"BITFIELD k GET u8 0 SET u8 0 1", "k:RW access update"},
	{"BITFIELD k INCRBY u8 0 1", "k:RW access update"},
	{"BITFIELD k GET u8", "k:RW access update"},
	{"BITFIELD k OVERFLOW", "k:RW access update"},
	{"BITFIELD_RO k GET u8 0", "k:RO access"},

	{"DEL a b c", "a:RM delete,b:RM delete,c:RM delete"},
	{"MSET a 1 b 2", "a:OW update,b:OW update"},
	{"MSET a 1 b", "a:OW update,b:OW update"},
	{"MGET a b", "a:RO access,b:RO access"},
	{"RENAME a b", "a:RW access delete,b:OW update"},
	{"COPY a b REPLACE", "a:RO access,b:OW update"},
	{"LMOVE a b LEFT RIGHT", "a:RW access delete,b:RW insert"},
	{"BITOP AND d a b", "d:OW update,a:RO access,b:RO access"},
	{"BITOP NOT d", "Invalid number of arguments specified for command"},
	{"PFMERGE d a b", "d:RW access insert,a:RO access,b:RO access"},
	{"PFCOUNT a b", "a:RW access,b:RW access"},
	{"BLPOP a b 0", "a:RW access delete,b:RW access delete"},
	{"BZPOPMIN a b 0", "a:RW access delete,b:RW access delete"},
	{"SINTERSTORE d a b", "d:RW update,a:RO access,b:RO access"},
	{"LCS a b LEN", "a:RO access,b:RO access"},
	{"WATCH a b", "a:RO,b:RO"},
	{"GEOSEARCHSTORE d s FROMMEMBER m BYRADIUS 1 m", "d:OW update,s:RO access"},
	{"ZRANGESTORE d s 0 -1", "d:OW update,s:RO access"},
	{"RESTORE-ASKING k 0 v", "k:OW update"},

	{"SORT k", "k:RO access"},
	{"SORT k STORE d", "k:RO access,d:OW update"},
	{"SORT k BY w_* GET # LIMIT 0 5 DESC STORE d", "k:RO access,d:OW update"},
	{"SORT k STORE a STORE b", "k:RO access,b:OW update"},
	{"SORT k BY store GET store STORE d", "k:RO access,d:OW update"},
	{"SORT k LIMIT store store store d", "k:RO access,d:OW update"},
	{"SORT k STORE", "k:RO access"},
	{"SORT k STORE store", "k:RO access,store:OW update"},
	{"SORT k STORE STORE BY w_*", "k:RO access,STORE:OW update"},
	{"SORT k STORE by STORE get", "k:RO access,get:OW update"},
	{"SORT k BY", "k:RO access"},
	{"SORT_RO k", "k:RO access"},
	{"SORT_RO k BY w_* GET p*", "k:RO access"},

	{"MIGRATE h 1 k 0 5000", "k:RW access delete"},
	{"MIGRATE h 1 k 0 5000 COPY REPLACE", "k:RW access delete"},
	{`MIGRATE h 1 "" 0 5000 KEYS a b`, "a:RW access delete,b:RW access delete"},
	{`MIGRATE h 1 "" 0 5000 AUTH keys KEYS a b`, "a:RW access delete,b:RW access delete"},
	{`MIGRATE h 1 "" 0 5000 AUTH2 keys keys COPY KEYS keys`, "keys:RW access delete"},
	{`MIGRATE h 1 "" 0 5000 KEYS`, ":RW access delete"},
	{`MIGRATE h 1 "" 0 5000`, ":RW access delete"},
	{"MIGRATE h 1 k 0 5000 KEYS a b", "Invalid arguments specified for command"},
	{"MIGRATE h 1 k 0 5000 AUTH keys", "k:RW access delete"},

	{"GEORADIUS k 1 2 3 m", "k:RO access"},
	{"GEORADIUS k 1 2 3 m STORE d", "k:RO access,d:OW update"},
	{"GEORADIUS k 1 2 3 m STOREDIST d", "k:RO access,d:OW update"},
	{"GEORADIUS k 1 2 3 m STORE a STOREDIST b", "k:RO access,a:OW update,b:OW update"},
	{"GEORADIUS k 1 2 3 m STOREDIST b STORE a", "k:RO access,a:OW update,b:OW update"},
	{"GEORADIUS k 1 2 3 m STORE", "k:RO access"},
	{"GEORADIUSBYMEMBER k m 3 m STORE d", "k:RO access,d:OW update"},
	{"GEORADIUS_RO k 1 2 3 m", "k:RO access"},

	{"ZUNION 2 a b", "a:RO access,b:RO access"},
	{"ZUNION 2 a b WEIGHTS 1 2", "a:RO access,b:RO access"},
	{"ZINTER 1 a b", "a:RO access"},
	{"ZDIFF 0 a", "Invalid arguments specified for command"},
	{"ZDIFF -1 a", "Invalid arguments specified for command"},
	{"ZDIFF x a", "Invalid arguments specified for command"},
	{"ZDIFF 3 a b", "Invalid arguments specified for command"},
	{"ZDIFF 9223372036854775807 a", "Invalid arguments specified for command"},
	{"ZDIFF 9223372036854775808 a", "Invalid arguments specified for command"},
	{"ZDIFF -9223372036854775808 a", "Invalid arguments specified for command"},
	{"ZDIFF 2147483647 a", "Invalid arguments specified for command"},
	{"ZUNION 2x a b", "a:,b:"},
	{"ZUNION 02 a b", "a:,b:"},
	{"ZUNION +1 a b", "a:"},
	{"ZUNIONSTORE d 2 a b", "d:OW update,a:RO access,b:RO access"},
	{"ZUNIONSTORE d 2x a b", "a:,b:,d:"},
	{"ZINTERSTORE d 0 a", "Invalid arguments specified for command"},
	{"ZDIFFSTORE d 5 a", "Invalid arguments specified for command"},
	{"ZINTERCARD 2 a b LIMIT 1", "a:RO access,b:RO access"},
	{"SINTERCARD 2 a b LIMIT 1", "a:RO access,b:RO access"},
	{"SINTERCARD 0 a", "Invalid arguments specified for command"},
	{"ZMPOP 2 a b MIN", "a:RW access delete,b:RW access delete"},
	{"LMPOP 1 a LEFT", "a:RW access delete"},
	{"BLMPOP 0 2 a b LEFT", "a:RW access delete,b:RW access delete"},
	{"BZMPOP 0 1 a MAX", "a:RW access delete"},
	{"BZMPOP 0 9 a MAX", "Invalid arguments specified for command"},

	{"EVAL s 0", ""},
	{"EVAL s 0 a", ""},
	{"EVAL s 2 a b c", "a:RW access update,b:RW access update"},
	{"EVAL s 3 a b", ""},
	{"EVAL s -1 a b", ""},
	{"EVAL s x a b", ""},
	{"EVAL_RO s 1 a", "a:RO access"},
	{"EVALSHA s 1 a", "a:RW access update"},
	{"EVALSHA_RO s 1 a", "a:RO access"},
	{"FCALL f 1 a", "a:RW access update"},
	{"FCALL_RO f 1 a b", "a:RO access"},

	{"XREAD STREAMS a 0", "a:RO access"},
	{"XREAD COUNT 2 BLOCK 0 STREAMS a b 0 0", "a:RO access,b:RO access"},
	{"XREAD STREAMS a b 0", "a:RO access"},
	{"XREAD COUNT 2 STREAMS", "Invalid arguments specified for command"},
	{"XREAD COUNT 2 a", "Invalid arguments specified for command"},
	{"XREADGROUP GROUP streams c STREAMS a >", "a:RO access"},
	{"XREADGROUP GROUP g c COUNT 1 NOACK STREAMS a b > >", "a:RO access,b:RO access"},
	{"XREADGROUP GROUP g streams STREAMS streams >", "streams:RO access"},
}

// ownKeyCases are answered on purpose in another way than Redis 7.2 does.
var ownKeyCases = []struct{ words, want string }{
	// The optional sources are absent, but the target is there.
	{"PFMERGE d", "d:RW access insert"},
	// A number that does not fit into 32 bits is no number of keys.
	{"ZUNION 4294967298 a b", "Invalid arguments specified for command"},
	{"EVAL s 4294967297 a b", ""},
	// Commands that 7.2 does not have.
	{"HEXPIRE k 10 NX FIELDS 1 f", "k:RW update"},
	{"HTTL k FIELDS 1 f", "k:RO access"},
	{"HSETEX k FIELDS 1 f v", "k:RW update"},
	{"HGETEX k FIELDS 1 f", "k:RW access update"},
	{"HGETDEL k FIELDS 1 f", "k:RW access delete"},
}

func TestKeys(t *testing.T) {
	table := load(t)
	for _, test := range append(keyCases, ownKeyCases...) {
		args := line(test.words)
		refs, err := table.GetKeys(args, nil)
		if got := describeKeys(args, refs, err); got != test.want {
			t.Errorf("%s: %s, want %s", test.words, got, test.want)
		}
	}
}

func describeKeys(args [][]byte, refs []KeyRef, err error) string {
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, ref := range refs {
		out = append(out, fmt.Sprintf("%s:%s", args[ref.Pos], ref.Flags))
	}
	return strings.Join(out, ",")
}

func TestRouteKeys(t *testing.T) {
	table := load(t)
	for _, test := range []struct{ words, want string }{
		{"GET k", "k"},
		{"SET k v GET", "k"},
		{"GEORADIUS k 1 2 3 m STORE a STOREDIST b", "k b"},
		{"GEORADIUS k 1 2 3 m STOREDIST b STORE a", "k a"},
		{"GEORADIUSBYMEMBER k m 3 m STORE a STORE b", "k b"},
		{"XREAD STREAMS a b 0", ""},
		{"XREAD STREAMS a b 0 0", "a b"},
		{"XREAD STREAMS a x STREAMS 0", "a x"},
		{"MIGRATE h 1 k 0 5000 KEYS a", ""},
		{"SORT k STORE d", "k d"},
		{"ZUNIONSTORE d 2 a b", "a b d"},
		{"EVAL s 0 a", ""},
		{"PFMERGE d", "d"},
		{"SPUBLISH c m", ""},
		{"PING", ""},
	} {
		args := line(test.words)
		row, _ := table.Resolve(args)
		var got []string
		for _, ref := range row.RouteKeys(args, nil) {
			got = append(got, string(args[ref.Pos]))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, want %s", test.words, got, test.want)
		}
	}
}

func TestChannelArgs(t *testing.T) {
	table := load(t)
	for _, test := range []struct {
		words, want string
		flags       ChannelFlag
	}{
		{"SUBSCRIBE a b", "a b", ChannelSubscribe},
		{"PSUBSCRIBE a*", "a*", ChannelPattern | ChannelSubscribe},
		{"UNSUBSCRIBE", "", ChannelUnsubscribe},
		{"SPUBLISH c m", "c", ChannelPublish},
		{"PUBLISH", "", ChannelPublish},
		{"GET k", "", 0},
	} {
		args := line(test.words)
		row, _ := table.Resolve(args)
		var got []string
		for _, arg := range row.ChannelArgs(args) {
			got = append(got, string(arg))
		}
		if strings.Join(got, " ") != test.want || row.Channels.Flags != test.flags {
			t.Errorf("%s: %v %s", test.words, got, row.Channels.Flags)
		}
	}
}

// Keys appends: what was in dst stays, whatever happens.
func TestKeysAppend(t *testing.T) {
	table := load(t)
	before := KeyRef{77, KeyRM}
	for _, test := range keyCases {
		args := line(test.words)
		row, _ := table.Resolve(args)
		if row == nil {
			continue
		}
		alone, _ := row.Keys(args, nil)
		got, _ := row.Keys(args, []KeyRef{before})
		if len(got) != len(alone)+1 || got[0] != before {
			t.Errorf("%s: %v after %v", test.words, got, before)
		}
	}
}

// FuzzKeys looks for arguments that lead Keys astray. The first word chooses the command; what follows are its arguments, one on
// a line.
func FuzzKeys(f *testing.F) {
	table := load(f)
	for _, test := range append(keyCases, ownKeyCases...) {
		f.Add([]byte(strings.ReplaceAll(test.words, " ", "\n")))
	}
	for row := range table.All() {
		f.Add([]byte(strings.ReplaceAll(row.Full, "|", "\n")))
		f.Add([]byte(strings.ReplaceAll(row.Full, "|", "\n") + "\n2\n2\n2\n2"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var args [][]byte
		for _, arg := range strings.Split(string(data), "\n") {
			args = append(args, []byte(arg))
		}
		row, _ := table.Resolve(args)
		if row == nil {
			return
		}
		refs, err := row.Keys(args, nil)
		if err != nil && len(refs) != 0 {
			t.Errorf("%v together with %v", err, refs)
		}
		checkRefs(t, row, args, refs)
		checkRefs(t, row, args, row.RouteKeys(args, nil))
		row.ChannelArgs(args)
	})
}

func checkRefs(t *testing.T, row *Row, args [][]byte, refs []KeyRef) {
	t.Helper()
	if len(refs) > 0 && !row.HasKeys() {
		t.Errorf("%s has no keys but found %v", row.Full, refs)
	}
	if len(refs) > len(args) {
		t.Errorf("%s: %d keys among %d arguments", row.Full, len(refs), len(args))
	}
	for _, ref := range refs {
		if ref.Pos < 1 || ref.Pos >= len(args) {
			t.Errorf("%s: key at %d of %d", row.Full, ref.Pos, len(args))
		}
	}
}
