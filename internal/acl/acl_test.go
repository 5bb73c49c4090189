package acl

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/spec"
)

func commands(t testing.TB) *spec.Table {
	t.Helper()
	table, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func words(text string) [][]byte { return bytes.Fields([]byte(text)) }

// userOf makes a user of rules in one line.
func userOf(t testing.TB, r *Registry, name, rules string) *User {
	t.Helper()
	ch, err := r.Set([]byte(name), words(rules))
	if err != nil {
		t.Fatalf("%s: %v", rules, err)
	}
	return ch.New
}

func TestCheck(t *testing.T) {
	table := commands(t)
	r := NewRegistry(table)
	for _, c := range []struct {
		rules, line string
		want        Reason
	}{
		{"+@all ~* &*", "FLUSHALL", Allowed},
		{"+get ~a*", "GET abc", Allowed},
		{"+get ~a*", "GET b", DeniedKey},
		{"+get ~a*", "SET a 1", DeniedCommand},
		{"+@all -@dangerous ~*", "KEYS *", DeniedCommand},
		{"+@all %R~r* %W~w*", "COPY r1 w1", Allowed},
		{"+@all %R~r* %W~w*", "COPY w1 r1", DeniedKey},
		{"+@all %R~r* %W~w*", "GET w1", DeniedKey},
		{"+@all %R~r* %W~w*", "GETDEL r1", DeniedKey},
		{"+@all %RW~x", "GETDEL x", Allowed},
		{"+config|get", "CONFIG GET x", Allowed},
		{"+config|get", "CONFIG SET x y", DeniedCommand},
		{"+config -config|set", "CONFIG SET x y", DeniedCommand},
		{"+select|0", "SELECT 0", Allowed},
		{"+select|0", "SELECT 1", DeniedCommand},
		{"+@all &news.*", "PUBLISH news.a x", Allowed},
		{"+@all &news.*", "PUBLISH other x", DeniedChannel},
		{"+@all &news.*", "PSUBSCRIBE news.*", Allowed},
		{"+@all &news.*", "PSUBSCRIBE news.a*", DeniedChannel},
		{"+@all &news.*", "UNSUBSCRIBE other", Allowed},
		{"-@all", "AUTH x y", Allowed},
		{"+get ~a (+set ~b)", "SET b 1", Allowed},
		{"+get ~a (+set ~b)", "SET a 1", DeniedKey},
		{"+get ~a (+set ~b)", "GET b", DeniedKey},
		{"+mset ~k*", "MSET k1 v k2 v x v", DeniedKey},
	} {
		u := userOf(t, r, "u", "reset "+c.rules)
		args := words(c.line)
		row, _ := table.Resolve(args)
		if got := u.Check(row, args, nil); got.Reason != c.want {
			t.Errorf("%s: %s: got %v, want %v", c.rules, c.line, got.Reason, c.want)
		}
	}
}

func TestMistakesChangeNothing(t *testing.T) {
	r := NewRegistry(commands(t))
	before := userOf(t, r, "u", "on >secret ~a +get").Rules()
	for rule, want := range map[string]error{
		"+nosuch": ErrUnknown, "+@nosuch": ErrUnknown, "-config|nosuch": ErrUnknown, "foo": ErrSyntax, "%X~a": ErrSyntax,
		"%~a": ErrSyntax, "%RR~a": ErrSyntax, "#12": ErrPasswordHash, "<other": ErrNoPassword, "+get|": ErrSyntax,
		"+config|get|x": ErrSubcommandArg, "(foo)": ErrSyntax, "(+nosuch)": ErrUnknown, "(~a))": ErrSyntax,
	} {
		_, err := r.Set([]byte("u"), [][]byte{[]byte("nopass"), []byte(">x"), []byte(rule)})
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want.Error()) {
			t.Errorf("%s: got %v, want %v", rule, err, want)
		}
		if now := r.Account([]byte("u")).User().Rules(); now != before {
			t.Fatalf("%s: the user is now %s", rule, now)
		}
	}
	if _, err := r.Set([]byte("u"), words("(+get ~a")); err == nil || err.Error() != "Unmatched parenthesis in acl selector starting at '(+get'." {
		t.Errorf("open parenthesis: %v", err)
	}
}

// ruleGen makes rules that are right.
func ruleGen(table *spec.Table) *rapid.Generator[string] {
	var names []string
	for row := range table.All() {
		names = append(names, row.Full)
	}
	one := func(list ...string) *rapid.Generator[string] { return rapid.SampledFrom(list) }
	return rapid.OneOf(
		one("on", "off", "nopass", "resetpass", "allkeys", "resetkeys", "resetchannels", "allcommands", "nocommands", "clearselectors",
			"sanitize-payload", "skip-sanitize-payload", ">a", ">b", "+select|0", "+select|1", "-select", "reset"),
		rapid.Map(rapid.SampledFrom(names), func(n string) string { return "+" + n }),
		rapid.Map(rapid.SampledFrom(names), func(n string) string { return "-" + n }),
		rapid.Map(rapid.SampledFrom(spec.CategoryNames()), func(n string) string { return "+@" + n }),
		rapid.Map(rapid.SampledFrom(spec.CategoryNames()), func(n string) string { return "-@" + n }),
		one("resetkeys ~k*", "resetkeys %R~r*", "resetkeys ~k* %W~w*", "resetchannels &c*", "(+get ~x)", "(+@all -@write %R~y &z)"),
	)
}

// TestRulesDescribeTheUser: the text of a user makes the same user again.
func TestRulesDescribeTheUser(t *testing.T) {
	table := commands(t)
	gen := ruleGen(table)
	rapid.Check(t, func(t *rapid.T) {
		r := NewRegistry(table)
		rules := rapid.SliceOfN(gen, 1, 12).Draw(t, "rules")
		ch, err := r.Set([]byte("u"), words(strings.Join(rules, " ")))
		if err != nil {
			t.Fatalf("%q: %v", rules, err)
		}
		changes, err := r.Load([]byte("user u "+ch.New.Rules()+"\n"), "file")
		if err != nil || len(changes) != 2 {
			t.Fatalf("%q: %d changes, %v", ch.New.Rules(), len(changes), err)
		}
		again := r.Account([]byte("u")).User()
		if again.Rules() != ch.New.Rules() {
			t.Fatalf("%q has become %q", ch.New.Rules(), again.Rules())
		}
		for row := range table.All() {
			args := [][]byte{[]byte("x"), []byte("0")}
			if a, b := ch.New.root.allowsCommand(row, args), again.root.allowsCommand(row, args); a != b {
				t.Fatalf("%q: %s is allowed: %v, then %v", ch.New.Rules(), row.Full, a, b)
			}
		}
	})
}

func TestLoadTellsAllMistakes(t *testing.T) {
	r := NewRegistry(commands(t))
	userOf(t, r, "kept", "on")
	_, err := r.Load([]byte("user a on\nuser a on\nfoo\n\nuser b +nosuch +@nosuch\nuser c foo bar\n"), "f")
	want := "WARNING: Duplicate user 'a' found on line 2. f:3 should start with user keyword followed by the username. " +
		"f:5: Error in applying operation '+nosuch': Unknown command or category name in ACL. " +
		"f:5: Error in applying operation '+@nosuch': Unknown command or category name in ACL. f:6: Syntax error. " +
		"WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if r.Account([]byte("kept")) == nil || r.Account([]byte("a")) != nil {
		t.Error("a file with mistakes has changed the users")
	}
}

func TestLogin(t *testing.T) {
	r := NewRegistry(commands(t))
	userOf(t, r, "u", "on >one >two")
	for password, want := range map[string]bool{"one": true, "two": true, "three": false, "": false} {
		if got := r.Login([]byte("u"), []byte(password)) != nil; got != want {
			t.Errorf("password %q: %v", password, got)
		}
	}
	userOf(t, r, "u", "off")
	if r.Login([]byte("u"), []byte("one")) != nil {
		t.Error("a disabled user logs in")
	}
	if changes, err := r.Delete(words("u nosuch")); err != nil || len(changes) != 1 || changes[0].New != nil {
		t.Errorf("deleted %v, %v", changes, err)
	}
	if _, err := r.Delete(words("x default")); err != ErrDefault {
		t.Errorf("the default user: %v", err)
	}
}

func TestLogGroups(t *testing.T) {
	var l Log
	for i := range 3 {
		l.Add(Entry{Reason: DeniedKey, Object: "k", User: "u", Client: fmt.Sprint(i)}, 1000, 128)
	}
	l.Add(Entry{Reason: DeniedKey, Object: "other", User: "u"}, 1000, 128)
	l.Add(Entry{Reason: DeniedKey, Object: "k", User: "u"}, 1000+groupWithin+1, 128)
	list := l.Last(10)
	if len(list) != 3 || list[2].Count != 3 || list[2].Client != "2" || list[0].Object != "k" || list[0].ID != 2 {
		t.Errorf("got %+v", list)
	}
	l.Add(Entry{Object: "new"}, 0, 1)
	if list := l.Last(10); len(list) != 1 || list[0].Object != "new" {
		t.Errorf("acllog-max-len 1: got %+v", list)
	}
}

func FuzzRules(f *testing.F) {
	table := commands(f)
	for _, seed := range []string{"on >p ~a* %R~b &c +@all -get +config|get", "(+get ~x) (~y", "reset #aa !bb <c %RW~", "+select|0 -@read"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewRegistry(table)
		ch, err := r.Set([]byte("u"), bytes.Split(text, []byte(" ")))
		if err != nil {
			return
		}
		line := r.Account([]byte("u")).Line()
		if strings.ContainsAny(line, "\n\x00") {
			return // a password's or word's own bytes: such a line cannot be in a file
		}
		if _, err := r.Load([]byte(line), "f"); err != nil {
			t.Fatalf("%q makes a user that cannot be read again: %v", text, err)
		}
		if again := r.Account([]byte("u")).User().Rules(); again != ch.New.Rules() {
			t.Fatalf("%q has become %q", ch.New.Rules(), again)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	table := commands(b)
	u := userOf(b, NewRegistry(table), "u", "+@all -@dangerous ~user:* ~cache:*")
	args := words("GET cache:1")
	row, _ := table.Resolve(args)
	keys := make([]spec.KeyRef, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		if u.Check(row, args, keys).Reason != Allowed {
			b.Fatal("refused")
		}
	}
}
