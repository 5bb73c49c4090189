package compat

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// side is one of the two servers, with three connections: RESP2, RESP3, and one for the test's own questions (RESP2).
type side struct {
	name   string
	server *testkit.Server
	conns  [2]*testkit.Client
	admin  *testkit.Client
}

// pair is the server under test, which has a redis-server for a replica, beside a redis-server.
type pair struct {
	sut, redis side
	replica    *testkit.Client
	older      bool // the redis-server is older than 7.2
	history    []string
	commands   int // that were compared
	sequences  int
}

const (
	syncWithin    = testkit.Patience
	sharedConf    = "enable-debug-command yes"
	replicaSyncMs = "30000"
	shownBytesMax = 100
)

// redisBinary is the redis-server to compare with.
func redisBinary(t testing.TB) testkit.Binary {
	b := testkit.Redis(t)
	if path := os.Getenv("COVEY_COMPAT_REDIS"); path != "" {
		b.Path = testkit.Need(t, path)
	}
	return inPlainOrder(b)
}

// inPlainOrder makes a redis-server compare texts by their bytes, whatever the locale is here.
func inPlainOrder(b testkit.Binary) testkit.Binary {
	b.Env = append(b.Env, "LC_ALL=C")
	return b
}

// olderThan72 tells whether a redis-server lacks what 7.2 has changed.
func olderThan72(t *testing.T, version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		t.Fatalf("version %q: %v", version, err)
	}
	return major < 7 || major == 7 && minor < 2
}

func newPair(t *testing.T, binary testkit.Binary) *pair {
	p := &pair{older: olderThan72(t, binary.Version(t))}
	p.sut = newSide(t, testkit.SUT(t).Name, testkit.Options{Conf: []string{sharedConf}})
	p.redis = newSide(t, "redis-server", testkit.Options{Binary: binary, Conf: []string{sharedConf}})
	replica := testkit.Start(t, testkit.Options{Binary: binary, Conf: []string{sharedConf, "replicaof 127.0.0.1 " + strconv.Itoa(p.sut.server.Port)}})
	p.replica = replica.Dial(t)
	testkit.Eventually(t, syncWithin, func() error {
		if status := replica.Info(t, "replication")["master_link_status"]; status != "up" {
			return fmt.Errorf("the replica's link is %s", status)
		}
		return nil
	})
	return p
}

func newSide(t *testing.T, name string, o testkit.Options) side {
	s := side{name: name, server: testkit.Start(t, o)}
	for i := range s.conns {
		s.conns[i] = s.server.Dial(t)
		s.conns[i].OK(t, "HELLO", strconv.Itoa(2+i))
	}
	s.admin = s.server.Dial(t)
	return s
}

// both sends a command to both servers over the connections with the same index.
func (p *pair) both(t rapid.TB, conn int, args ...string) (ours, theirs reply.Value) {
	t.Helper()
	return p.ask(t, p.sut.conns[conn], p.redis.conns[conn], args)
}

// asAdmin sends a command to both servers over the connections of the test itself.
func (p *pair) asAdmin(t rapid.TB, args ...string) (ours, theirs reply.Value) {
	t.Helper()
	return p.ask(t, p.sut.admin, p.redis.admin, args)
}

// ask sends first and reads then, so that both servers work at the same time.
func (p *pair) ask(t rapid.TB, one, other *testkit.Client, args []string) (ours, theirs reply.Value) {
	t.Helper()
	err := one.Send(args...)
	if err == nil {
		err = other.Send(args...)
	}
	if err == nil {
		if ours, err = one.Read(); err != nil {
			t.Fatalf("%s does not answer %s: %v%s", p.sut.name, shown(args), err, p.story())
		}
		theirs, err = other.Read()
	}
	if err != nil {
		t.Fatalf("%s: %v", shown(args), err)
	}
	return ours, theirs
}

// shown is a command as redis-cli takes it, but for very long arguments.
func shown(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if len(a) > shownBytesMax {
			words[i] = fmt.Sprintf("%s...(%d bytes)", reply.Quote(a[:shownBytesMax/2]), len(a))
			continue
		}
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\' }) {
			words[i] = reply.Quote(a)
		}
	}
	if len(words) > 40 {
		words = append(words[:20:20], fmt.Sprintf("...(%d more)", len(words)-20))
	}
	return strings.Join(words, " ")
}

// story is what was done in this sequence.
func (p *pair) story() string {
	return "\nthe commands, as redis-cli takes them:\n  " + strings.Join(p.history, "\n  ") +
		"\nagain: go test ./tests/compat, with the -run and one of the -rapid flags below"
}

// differ fails with both replies.
func (p *pair) differ(t rapid.TB, ours, theirs any) {
	t.Helper()
	t.Fatalf("the servers differ\n  %s: %v\n  %s: %v%s", p.sut.name, ours, p.redis.name, theirs, p.story())
}

// begin brings both servers to the state from which a family starts.
func (p *pair) begin(t rapid.TB, f *family, config []string) {
	p.history = p.history[:0]
	p.sequences++
	for conn := range p.sut.conns {
		p.both(t, conn, "DISCARD")
		p.both(t, conn, "UNWATCH")
		p.both(t, conn, "SELECT", "0")
	}
	p.prepare(t, "FLUSHALL")
	if len(config) > 0 {
		set := append([]string{"CONFIG", "SET"}, config...)
		p.prepare(t, set...)
		if v, err := p.replica.Try(set...); err != nil || v.Kind == reply.Error {
			t.Fatalf("the replica: %s: %v, %v", shown(set), v, err)
		}
	}
	for _, line := range f.prelude {
		p.prepare(t, strings.Fields(line)...)
	}
}

// prepare sends a command that must work.
func (p *pair) prepare(t rapid.TB, args ...string) {
	p.history = append(p.history, shown(args))
	ours, theirs := p.asAdmin(t, args...)
	if ours.Kind == reply.Error || theirs.Kind == reply.Error {
		p.differ(t, ours, theirs)
	}
}

// step sends a command over RESP2 or RESP3 and compares the replies.
func (p *pair) step(t rapid.TB, conn int, args []string) {
	p.history = append(p.history, shown(args))
	p.commands++
	if run := specialOf(args); run != nil {
		run(p, t, conn, args)
		return
	}
	p.compare(t, conn, args)
}

// compare sends a command and compares the replies as the command has it. It returns ours.
func (p *pair) compare(t rapid.TB, conn int, args []string) reply.Value {
	name := strings.ToUpper(args[0])
	ours, theirs := p.both(t, conn, args...)
	if p.older {
		theirs = shortFloats(name, theirs)
	}
	if !sameReply(comparisonOf(name, args), ours, theirs) && !(p.older && changedSince70(args, ours, theirs)) {
		p.differ(t, ours, theirs)
	}
	return ours
}

// finish compares what the servers hold, and what the replica does.
func (p *pair) finish(t rapid.TB, f *family) {
	for conn := range p.sut.conns {
		p.both(t, conn, "DISCARD")
	}
	digest, theirs := p.asAdmin(t, "DEBUG", "DIGEST")
	if digest.Text != theirs.Text && !p.sameButForScores(t) {
		p.findOther(t)
		p.differ(t, digest, theirs)
	}
	names, theirNames := p.asAdmin(t, "KEYS", "*")
	sortItems(names.Items)
	sortItems(theirNames.Items)
	if !sameReply(exactly, names, theirNames) {
		p.differ(t, names, theirNames)
	}
	for _, key := range names.Strings() {
		p.compareKey(t, f, key)
	}
	for _, client := range append(p.sut.conns[:], p.sut.admin) { // each waits for what it has written itself
		if wait, err := client.Try("WAIT", "1", replicaSyncMs); err != nil || wait.Int != 1 {
			t.Fatalf("the replica does not follow: %v, %v%s", wait, err, p.story())
		}
	}
	copied, err := p.replica.Try("DEBUG", "DIGEST")
	if err != nil || copied.Text != digest.Text && copied.Text != theirs.Text {
		t.Fatalf("the replica has other data: %v, %v; the primary %v%s%s", copied, err, digest, p.replicaKeys(t), p.story())
	}
}

// reload lets the server under test save its data and load it again: it must be the same then.
func (p *pair) reload(t rapid.TB) {
	before, err := p.sut.admin.Try("DEBUG", "DIGEST")
	if err == nil {
		_, err = p.sut.admin.Try("DEBUG", "RELOAD")
	}
	if err != nil {
		t.Fatalf("DEBUG RELOAD: %v%s", err, p.story())
	}
	if after, err := p.sut.admin.Try("DEBUG", "DIGEST"); err != nil || after.Text != before.Text {
		t.Fatalf("DEBUG RELOAD makes %v of %v: %v%s", after, before, err, p.story())
	}
}

// sameButForScores compares key by key: the digest of a sorted set has the scores in the shortest form since 7.2, with 17
// digits before.
func (p *pair) sameButForScores(t rapid.TB) bool {
	defer p.asAdmin(t, "SELECT", "0")
	for _, db := range []string{"0", "1", "2", "15"} {
		p.asAdmin(t, "SELECT", db)
		names, theirs := p.asAdmin(t, "KEYS", "*")
		if len(names.Items) != len(theirs.Items) {
			return false
		}
		for _, key := range names.Strings() {
			if !p.sameValue(t, key) {
				return false
			}
		}
	}
	return true
}

func (p *pair) sameValue(t rapid.TB, key string) bool {
	ours, theirs := p.asAdmin(t, "TYPE", key)
	if ours.Text == "zset" && theirs.Text == "zset" {
		ours, theirs = p.asAdmin(t, "ZRANGE", key, "0", "-1", "WITHSCORES")
		return sameReply(exactly, ours, shortFloats("ZRANGE", theirs))
	}
	ours, theirs = p.asAdmin(t, "DEBUG", "DIGEST-VALUE", key)
	return sameReply(exactly, ours, theirs)
}

// findOther names the keys whose values differ.
func (p *pair) findOther(t rapid.TB) {
	names, theirs := p.asAdmin(t, "KEYS", "*")
	all := append(names.Strings(), theirs.Strings()...)
	sort.Strings(all)
	for i, key := range all {
		if i > 0 && all[i-1] == key {
			continue
		}
		if !p.sameValue(t, key) {
			p.history = append(p.history, fmt.Sprintf("# then %q has another value", key))
		}
	}
}

// replicaKeys names the keys that the replica has otherwise than its primary.
func (p *pair) replicaKeys(t rapid.TB) string {
	names, _ := p.asAdmin(t, "KEYS", "*")
	var b strings.Builder
	for _, key := range names.Strings() {
		ours, _ := p.sut.admin.Try("DEBUG", "DIGEST-VALUE", key)
		theirs, _ := p.replica.Try("DEBUG", "DIGEST-VALUE", key)
		if !sameReply(exactly, ours, theirs) {
			fmt.Fprintf(&b, "\nkey %q is another one there", key)
		}
	}
	return b.String()
}

// compareKey compares expiry and encoding of a key.
func (p *pair) compareKey(t rapid.TB, f *family, key string) {
	ours, theirs := p.asAdmin(t, "PTTL", key)
	if !sameReply(times, ours, theirs) {
		p.history = append(p.history, shown([]string{"PTTL", key}))
		p.differ(t, ours, theirs)
	}
	ours, theirs = p.asAdmin(t, "OBJECT", "ENCODING", key)
	if ours.Text != theirs.Text && theirs.Text != f.encodings && !(p.older && encodingSince70(ours.Text, theirs.Text)) {
		p.history = append(p.history, shown([]string{"OBJECT", "ENCODING", key}))
		p.differ(t, ours, theirs)
	}
}
