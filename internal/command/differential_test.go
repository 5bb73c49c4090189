package command

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// twins are our engine and a real redis-server that get the same commands.
type twins struct {
	h     *harness
	redis *testkit.Client
}

func newTwins(t *testing.T) *twins {
	server := testkit.Start(t, testkit.Options{Binary: testkit.Redis(t), Conf: []string{"enable-debug-command yes", "save \"\""}})
	h := newHarnessWith(t, harnessOptions{clock: clock.Real()})
	h.e.Settings.DebugAllowed.Store(engine.AllowAll)
	return &twins{h: h, redis: server.Dial(t)}
}

// exchangeDumps gives each server, as the key to, what the other has dumped of the key from; false when there is no such key.
func (w *twins) exchangeDumps(t rapid.TB, from, to string) bool {
	t.Helper()
	theirs, err := w.redis.Try("DUMP", from)
	if err != nil {
		t.Fatal(err)
	}
	ours := w.h.args("DUMP", from)
	if ours.IsNil() != theirs.IsNil() {
		t.Fatalf("DUMP %s: ours %v, theirs %v", from, ours, theirs)
	}
	if ours.IsNil() {
		return false
	}
	if v := w.h.args("RESTORE", to, "0", theirs.Text, "REPLACE"); v.Text != "OK" {
		t.Fatalf("we do not take their dump of %s: %v", from, v)
	}
	if v, err := w.redis.Try("RESTORE", to, "0", ours.Text, "REPLACE"); err != nil || v.Text != "OK" {
		t.Fatalf("they do not take our dump of %s: %v, %v", from, v, err)
	}
	return true
}

// restoreOurs makes a key of both servers what ours dumps of it.
func (w *twins) restoreOurs(t rapid.TB, key string) {
	t.Helper()
	dump := w.h.args("DUMP", key)
	if dump.IsNil() {
		return
	}
	if v, err := w.redis.Try("RESTORE", key, "0", dump.Text, "REPLACE"); err != nil || v.Text != "OK" {
		t.Fatalf("they do not take our dump of %s: %v, %v", key, v, err)
	}
	w.h.args("RESTORE", key, "0", dump.Text, "REPLACE")
}

// restoreTheirs makes a key of both servers what redis-server dumps of it.
func (w *twins) restoreTheirs(t rapid.TB, key string) {
	t.Helper()
	dump, err := w.redis.Try("DUMP", key)
	if err != nil || dump.IsNil() {
		return
	}
	w.redis.Try("RESTORE", key, "0", dump.Text, "REPLACE")
	if v := w.h.args("RESTORE", key, "0", dump.Text, "REPLACE"); v.Text != "OK" {
		t.Fatalf("we do not take their dump of %s: %v", key, v)
	}
}

// compare sends one command to both and fails when the replies differ. It returns ours.
func (w *twins) compare(t rapid.TB, args ...string) reply.Value {
	t.Helper()
	theirs, err := w.redis.Try(args...)
	if err != nil {
		t.Fatalf("redis-server, %q: %v", args, err)
	}
	ours := w.h.args(args...)
	if !sameReply(strings.ToUpper(args[0]), ours, theirs) {
		t.Fatalf("%q:\n  ours:   %v\n  theirs: %v", args, ours, theirs)
	}
	return ours
}

// reset brings both to an empty keyspace and a fresh session.
func (w *twins) reset(t rapid.TB) {
	for _, line := range []string{"RESET", "FLUSHALL"} {
		if _, err := w.redis.Try(line); err != nil {
			t.Fatal(err)
		}
		w.h.args(line)
	}
}

// clockSlack is by how many milliseconds times may differ that the two computed one after the other.
const clockSlack = 30000

// sameReply compares replies: times within a slack, names in any order.
func sameReply(name string, a, b reply.Value) bool {
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return false
	}
	switch {
	case a.Kind == reply.Int && a.Int > 1000 && b.Int > 1000 && name != "INCRBY" && name != "INCR":
		return a.Int-b.Int < clockSlack && b.Int-a.Int < clockSlack
	case a.Kind != reply.Array:
		return a.Text == b.Text && a.Int == b.Int
	}
	x, y := a.Items, b.Items
	switch name {
	case "KEYS":
		x, y = sorted(x), sorted(y)
	case "EXEC":
		name = "KEYS" // which of the replies are names is not known here
	}
	for i := range x {
		if !sameReply(name, x[i], y[i]) {
			return false
		}
	}
	return true
}

func sorted(list []reply.Value) []reply.Value {
	list = append([]reply.Value(nil), list...)
	sort.Slice(list, func(i, j int) bool { return list[i].Text < list[j].Text })
	return list
}

// draw makes random commands of few keys. No two times it makes are equal, so that the order of times does not depend on
// the milliseconds that pass.
type draw struct {
	*rapid.T
	step int
}

func (d *draw) key() string {
	return rapid.SampledFrom([]string{"a", "b", "{a}1", "c"}).Draw(d.T, "key")
}
func (d *draw) db() string {
	return rapid.SampledFrom([]string{"0", "1", "2", "16", "-1", "x"}).Draw(d.T, "db")
}

func (d *draw) value() string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "1", "-1", "10", "007", " 1", "1.5", "9223372036854775807", "-9223372036854775808",
			"9223372036854775808", "abc", strings.Repeat("x", 44), strings.Repeat("y", 45), strings.Repeat("ab", 200),
			strings.Repeat("z", 40000)}),
		rapid.StringN(0, 30, 60),
	).Draw(d.T, "value")
}

func (d *draw) number() string {
	return rapid.SampledFrom([]string{"0", "1", "-1", "5", "100", "9223372036854775807", "-9223372036854775808", "x", "1.0", ""}).
		Draw(d.T, "number")
}

// seconds is a time from now on: far away, or over.
func (d *draw) seconds() string {
	if rapid.IntRange(0, 9).Draw(d.T, "past") == 0 {
		return rapid.SampledFrom([]string{"0", "-1", "-9223372036854775808", "9223372036854775807", "x"}).Draw(d.T, "odd")
	}
	return strconv.Itoa(10000*rapid.IntRange(1, 50).Draw(d.T, "seconds") + 10*d.step)
}

func (d *draw) millis() string {
	s := d.seconds()
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n < 1<<40 {
		return s + "000"
	}
	return s
}

func (d *draw) words(list ...string) []string {
	var out []string
	for _, w := range rapid.SliceOfN(rapid.SampledFrom(list), 0, 2).Draw(d.T, "words") {
		out = append(out, strings.Fields(w)...)
	}
	return out
}

// command draws one command. The names are weighted: what makes keys comes more often.
func (d *draw) command() []string {
	d.step++
	name := rapid.SampledFrom(strings.Fields(`SET SET SET MSET APPEND EXPIRE EXPIRE PEXPIRE EXPIREAT TTL PTTL EXPIRETIME
		PEXPIRETIME PERSIST DEL UNLINK EXISTS TYPE TOUCH RENAME RENAME RENAMENX COPY COPY MOVE MOVE KEYS DBSIZE FLUSHDB
		FLUSHALL SWAPDB SELECT OBJECT DUMP DUMPRESTORE RESTORE GET MGET MSETNX SETNX SETEX PSETEX GETSET GETDEL GETEX STRLEN
		SETRANGE GETRANGE INCR DECR INCRBY DECRBY INCRBYFLOAT MULTI EXEC DISCARD WATCH UNWATCH DIGEST`)).Draw(d.T, "name")
	switch name {
	case "SET":
		return append([]string{name, d.key(), d.value()}, d.words("NX", "XX", "GET", "KEEPTTL", "EX "+d.seconds(), "PX "+d.millis())...)
	case "MSET", "MSETNX":
		return []string{name, d.key(), d.value(), d.key(), d.value()}
	case "APPEND", "SETNX", "GETSET":
		return []string{name, d.key(), d.value()}
	case "EXPIRE":
		return append([]string{name, d.key(), d.seconds()}, d.words("NX", "XX", "GT", "lt", "no")...)
	case "PEXPIRE":
		return append([]string{name, d.key(), d.millis()}, d.words("NX", "XX", "GT", "LT")...)
	case "EXPIREAT":
		return []string{name, d.key(), rapid.SampledFrom([]string{"1", "0", "-5", "9000000000", "9223372036854775807"}).Draw(d.T, "at")}
	case "SETEX":
		return []string{name, d.key(), d.seconds(), d.value()}
	case "PSETEX":
		return []string{name, d.key(), d.millis(), d.value()}
	case "GETEX":
		return append([]string{name, d.key()}, d.words("PERSIST", "EX "+d.seconds(), "PX "+d.millis())...)
	case "DEL", "UNLINK", "EXISTS", "TOUCH", "MGET":
		return []string{name, d.key(), d.key()}
	case "RENAME", "RENAMENX":
		return []string{name, d.key(), d.key()}
	}
	return d.otherCommand(name)
}

func (d *draw) otherCommand(name string) []string {
	switch name {
	case "COPY":
		return append([]string{name, d.key(), d.key()}, d.words("REPLACE", "DB "+d.db(), "no")...)
	case "MOVE":
		return []string{name, d.key(), d.db()}
	case "SELECT":
		return []string{name, d.db()}
	case "SWAPDB":
		return []string{name, d.db(), d.db()}
	case "KEYS":
		return []string{name, rapid.SampledFrom([]string{"*", "a", "?", "{*", "[ab]", "\\"}).Draw(d.T, "pattern")}
	case "FLUSHDB", "FLUSHALL":
		return append([]string{name}, d.words("SYNC", "ASYNC")...)
	case "OBJECT":
		return []string{name, rapid.SampledFrom([]string{"ENCODING", "FREQ"}).Draw(d.T, "what"), d.key()}
	case "RESTORE":
		return append([]string{name, d.key(), d.number(), d.value()}, d.words("REPLACE", "ABSTTL", "FREQ "+d.number(), "IDLETIME 5")...)
	case "SETRANGE":
		return []string{name, d.key(), rapid.SampledFrom([]string{"0", "3", "100", "-1", "x"}).Draw(d.T, "at"), d.value()}
	case "GETRANGE":
		return []string{name, d.key(), d.number(), d.number()}
	case "INCRBY", "DECRBY", "INCRBYFLOAT":
		return []string{name, d.key(), d.number()}
	case "DBSIZE", "MULTI", "EXEC", "DISCARD", "UNWATCH":
		return []string{name}
	case "DIGEST":
		return []string{"DEBUG", "DIGEST"}
	}
	return []string{name, d.key()}
}

// Random commands are answered as redis-server answers them, and leave the same data.
func TestSameAsRedis(t *testing.T) {
	w := newTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		d := &draw{T: rt}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			args := d.command()
			if args[0] != "DUMPRESTORE" {
				w.compare(rt, args...)
				continue
			}
			dump := w.compare(rt, "DUMP", args[1])
			w.compare(rt, append([]string{"RESTORE", d.key(), strconv.Itoa(1000000 * d.step), dump.Text}, d.words("REPLACE")...)...)
		}
		w.compare(rt, "DISCARD")
		w.compare(rt, "DEBUG", "DIGEST")
		for _, k := range []string{"a", "b", "{a}1", "c"} {
			w.compare(rt, "DEBUG", "DIGEST-VALUE", k)
			w.compare(rt, "PTTL", k)
		}
		w.compareScan(rt)
	})
}

// compareScan walks both keyspaces to the end.
func (w *twins) compareScan(t rapid.TB) {
	names := func(ask func(...string) (reply.Value, error)) string {
		var all []string
		for cursor := "0"; ; {
			v, err := ask("SCAN", cursor, "COUNT", "2")
			if err != nil || len(v.Items) != 2 {
				t.Fatalf("SCAN: %v, %v", v, err)
			}
			all = append(all, v.Items[1].Strings()...)
			if cursor = v.Items[0].Text; cursor == "0" {
				sort.Strings(all)
				return strings.Join(all, " ")
			}
		}
	}
	ours := names(func(args ...string) (reply.Value, error) { return w.h.args(args...), nil })
	if theirs := names(w.redis.Try); ours != theirs {
		t.Fatalf("SCAN:\n  ours:   %s\n  theirs: %s", ours, theirs)
	}
}

// The texts of errors that random commands rarely meet.
func TestErrorsAreThoseOfRedis(t *testing.T) {
	w := newTwins(t)
	w.compare(t, "SET", "k", "v")
	for _, line := range []string{
		"COPY k x DB 2147483648", "COPY k x DB -9223372036854775809", "COPY k x DB", "COPY k x Y", "COPY k k DB 0",
		"MOVE k 2147483648", "MOVE k 0", "MOVE k k", "SWAPDB 2147483648 1", "SWAPDB 1 y", "SWAPDB 99 1",
		"EXPIRE k 1 NX XX", "EXPIRE k 1 GT LT", "EXPIRE k 1 HA", "EXPIRE k 9223372036854775807", "EXPIRE k", "PEXPIRE k 9223372036854775807",
		"SCAN", "SCAN x", "SCAN 0 COUNT 0", "SCAN 0 COUNT x", "SCAN 0 TYPE", "SCAN 18446744073709551616", "SCAN \"\"",
		"SCAN \"\\t5\"", "SCAN -18446744073709551616", "SCAN 0 TYPE nosuch", "SCAN 0 MATCH k COUNT 9223372036854775807",
		"FLUSHALL X", "FLUSHDB ASYNC ASYNC", "OBJECT FREQ k", "OBJECT ENCODING", "OBJECT IDLETIME no", "OBJECT REFCOUNT k k",
		"RESTORE k 0 x", "RESTORE n -1 x", "RESTORE n x y", "RESTORE n 0 \"\"", "RESTORE n 0 x NOSUCH", "RESTORE n 0 x IDLETIME -1",
		"RESTORE n 0 x FREQ 256", "RESTORE n 0 x FREQ 1 IDLETIME 1", "RESTORE n 0 x FREQ", "RESTORE n 0",
		"MEMORY USAGE no", "MEMORY USAGE k SAMPLES -1", "MEMORY USAGE k SAMPLES", "MEMORY USAGE k SAMPLES x", "MEMORY USAGE k X",
		"MEMORY USAGE", "MEMORY PURGE X", "DEBUG NOSUCH", "DEBUG OBJECT no", "DEBUG OBJECT", "DEBUG RELOAD X", "DEBUG DIGEST-VALUE no k",
		"DEBUG ERROR \"X y\"", "DEBUG PROTOCOL x", "DEBUG PROTOCOL map", "DEBUG PROTOCOL double", "DEBUG PROTOCOL push", "DEBUG SLEEP y",
		"DEBUG POPULATE x", "DEBUG POPULATE -1", "DEBUG POPULATE 3 p 10", "GET p:1", "DEBUG SET-ACTIVE-EXPIRE 1",
		"RENAME no x", "RENAMENX no x", "RANDOMKEY x", "KEYS", "DBSIZE 1", "TOUCH", "UNLINK", "TYPE", "PERSIST", "TTL k k",
	} {
		t.Run(line, func(t *testing.T) { w.compare(t, splitLine(t, line)...) })
	}
}

// DEBUG DIGEST sees every database, type of encoding and expiry.
func TestDigestIsThatOfRedis(t *testing.T) {
	w := newTwins(t)
	for i := range 500 {
		w.compare(t, "SELECT", strconv.Itoa(i%3))
		w.compare(t, "SET", fmt.Sprintf("key:%d", i), strings.Repeat("v", i))
		w.compare(t, "SET", fmt.Sprintf("int:%d", i), strconv.Itoa(i*i))
		if i%5 == 0 {
			w.compare(t, "EXPIRE", fmt.Sprintf("int:%d", i), "1000")
		}
	}
	w.compare(t, "DEBUG", "DIGEST")
	w.compare(t, "DEBUG", "DIGEST-VALUE", "key:3", "int:3", "no", "int:0")
}
