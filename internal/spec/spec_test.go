package spec

import (
	"strings"
	"testing"
)

func load(t testing.TB) *Table {
	t.Helper()
	table, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func line(words string) [][]byte {
	var args [][]byte
	for _, word := range strings.Split(words, " ") {
		if word == `""` {
			word = ""
		}
		args = append(args, []byte(word))
	}
	return args
}

func TestLookup(t *testing.T) {
	table := load(t)
	for row := range table.All() {
		if got := table.Find([]byte(row.Full)); got != row {
			t.Errorf("Find(%q) = %v", row.Full, got)
		}
		if got := table.Find([]byte(strings.ToUpper(row.Full))); got != row {
			t.Errorf("Find(%q) = %v", strings.ToUpper(row.Full), got)
		}
		if got := table.ByID(row.ID); got != row {
			t.Errorf("ByID(%d) = %v, want %s", row.ID, got, row.Full)
		}
	}
	for _, name := range []string{
		"", "g", "gett", "nosuch", "config|", "config|get|x", "|get", "get|x", "config|nosuch",
		"ge\x54\x00", "GE\xd4", "sort\x7fro", "restore\rasking", strings.Repeat("x", 1000), "zrangebyscorE ",
	} {
		if got := table.Find([]byte(name)); got != nil {
			t.Errorf("Find(%q) = %s", name, got.Full)
		}
	}
	if table.ByID(-1) != nil || table.ByID(table.IDs()) != nil {
		t.Error("ByID accepts an ID that is out of range")
	}
}

func TestResolve(t *testing.T) {
	table := load(t)
	for _, test := range []struct{ words, row, base string }{
		{"GET", "get", "get"},
		{"GET k", "get", "get"},
		{"Config gEt x", "config|get", "config"},
		{"config", "config", "config"},
		{"config nosuch", "", "config"},
		{"command", "command", "command"},
		{"command x", "", "command"},
		{"nosuch get", "", ""},
		{"config|get x", "", ""},
	} {
		row, base := table.Resolve(line(test.words))
		if name(row) != test.row || name(base) != test.base {
			t.Errorf("Resolve(%q) = %q, %q", test.words, name(row), name(base))
		}
	}
	if row, base := table.Resolve(nil); row != nil || base != nil {
		t.Error("Resolve found a command in nothing")
	}
}

func name(row *Row) string {
	if row == nil {
		return ""
	}
	return row.Full
}

func TestRestrict(t *testing.T) {
	full := load(t)
	table := full.Restrict(func(r *Row) bool {
		return r.Full == "get" || r.Full == "config|get" || r.Full == "config|set" || r.Full == "command"
	})
	var names []string
	for row := range table.All() {
		names = append(names, row.Full)
		if table.ByID(row.ID) != row || full.ByID(row.ID).Full != row.Full {
			t.Errorf("%s: ID %d is of something else", row.Full, row.ID)
		}
		for _, sub := range row.Subs {
			if sub.Parent != row {
				t.Errorf("%s does not point to its command", sub.Full)
			}
		}
	}
	if got := strings.Join(names, " "); got != "command config config|get config|set get" {
		t.Errorf("kept %s", got)
	}
	if table.Lookup([]byte("set")) != nil || table.Find([]byte("config|rewrite")) != nil {
		t.Error("a row that was not kept is found")
	}
	command := table.Lookup([]byte("command"))
	if len(command.Subs) != 0 || command.Sub([]byte("count")) != nil {
		t.Error("command kept subcommands")
	}
	if row, _ := table.Resolve(line("command x")); row != command {
		t.Error("a command whose subcommands are gone takes arguments")
	}
	if full.Find([]byte("config|rewrite")) == nil || len(full.Lookup([]byte("command")).Subs) == 0 {
		t.Error("Restrict changed the table it was made from")
	}
	if table.IDs() != full.IDs() {
		t.Error("IDs changed")
	}
}

func TestRename(t *testing.T) {
	full := load(t)
	table, err := full.Rename("GET", "Fetch")
	if err != nil {
		t.Fatal(err)
	}
	row := table.Lookup([]byte("fetCH"))
	if row == nil || row.Full != "get" || table.Lookup([]byte("get")) != nil {
		t.Errorf("after renaming GET, FETCH is %v", row)
	}
	if len(table.Rows()) != len(full.Rows()) || full.Lookup([]byte("get")) == nil || full.Lookup([]byte("fetch")) != nil {
		t.Error("Rename changed more than it should")
	}
	gone, err := table.Rename("fetch", "")
	if err != nil || len(gone.Rows()) != len(full.Rows())-1 || gone.Lookup([]byte("fetch")) != nil {
		t.Errorf("removing a command: %v", err)
	}
	if gone = gone.Restrict(func(*Row) bool { return true }); gone.Lookup([]byte("get")) != nil {
		t.Error("Restrict brought a command back")
	}
	for _, test := range []struct {
		from, to string
		want     error
	}{{"nosuch", "x", ErrNoSuchCommand}, {"get", "SET", ErrNameTaken}, {"get", "get", ErrNameTaken}} {
		if _, err := full.Rename(test.from, test.to); err != test.want {
			t.Errorf("Rename(%s, %s): %v", test.from, test.to, err)
		}
	}
}

// The flags that other parts of the server rely on, with what follows from them.
func TestRows(t *testing.T) {
	table := load(t)
	for row := range table.All() {
		if row.Flags&Write != 0 && row.Flags&(ReadOnly|MayReplicate) != 0 {
			t.Errorf("%s writes and claims not to", row.Full)
		}
		if row.finder != finderNone && len(row.KeySpecs) == 0 {
			t.Errorf("%s has a finder of keys and no key specs", row.Full)
		}
		if row.noSpecs && row.finder == finderNone {
			t.Errorf("%s has variable flags and no finder", row.Full)
		}
		if isCounted := row.finder == finderNumKeys || row.finder == finderNumKeysStore; isCounted {
			if last := row.KeySpecs[len(row.KeySpecs)-1]; last.Begin != BeginIndex || last.Find != FindKeyNum || last.Step != 1 {
				t.Errorf("%s: the last key spec is not counted", row.Full)
			}
		}
		for _, sub := range row.Subs {
			if sub.Parent != row || sub.Full != row.Name+"|"+sub.Name || sub.Group != row.Group {
				t.Errorf("%s is not a proper subcommand of %s", sub.Full, row.Full)
			}
		}
	}
	eval := table.Lookup([]byte("eval"))
	if eval.Flags&MovableKeys == 0 || table.Lookup([]byte("set")).Flags&MovableKeys != 0 {
		t.Error("movablekeys is wrong")
	}
	if got := table.Lookup([]byte("get")).Flags.String(); got != "readonly fast" {
		t.Errorf("flags of GET: %s", got)
	}
}

func TestCategoryByName(t *testing.T) {
	for i, name := range CategoryNames() {
		if c, ok := CategoryByName([]byte(strings.ToUpper(name))); !ok || c != 1<<i || c.String() != name {
			t.Errorf("CategoryByName(%s) = %v, %v", name, c, ok)
		}
	}
	if _, ok := CategoryByName([]byte("all")); ok {
		t.Error("@all is not a category of the table")
	}
}

func TestParseErrors(t *testing.T) {
	const head = "group g\nx\n  summary S\n  since 1.0.0\n  arity 2\n  acl slow\n"
	if err := new(parser).parse(head); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{"  summary before\n", "before the first row"},
		{"group g\nx|y\n", "does not follow"},
		{"group g\nx\n  since 1\n  arity 1\n  acl slow\n", "no summary"},
		{"x\n  summary S\n  since 1\n  arity 1\n  acl slow\n", "no group"},
		{strings.Replace(head, "arity 2", "arity two", 1), "invalid syntax"},
		{strings.Replace(head, "acl slow", "acl quick", 1), `"quick"`},
		{strings.Replace(head, "acl slow", "acl fast slow", 1), "fast and slow"},
		{head + "  flags write\n", "lacks the categories write"},
		{head + "  flags movablekeys\n", "movablekeys"},
		{head + "  nosuch 1\n", `"nosuch"`},
		{head + "  finder nosuch\n", `"nosuch"`},
		{head + "  key RO\n", "lacks a part"},
		{head + "  key XX | index 1 | range 0 1 0\n", `"XX"`},
		{head + "  key RO | index 0 | range 0 1 0\n", "bad key spec"},
		{head + "  key RO | index 1 | range 0 0 0\n", "bad key spec"},
		{head + "  key RO | index 1 | range -2 1 2\n", "bad key spec"},
		{head + "  key RO | keyword K 0 | range 0 1 0\n", "bad key spec"},
		{head + "  key RO | index 1 | keynum 0 0 1\n", "bad key spec"},
		{head + "  channels publish 0 1\n", "bad channels"},
		{head + "  channels 1\n", "lack a part"},
		{head + "  args\n    a number\n", "unknown type"},
		{head + "  args\n    a string odd\n", `"odd"`},
		{head + "  args\n    a key @0\n", "does not exist"},
		{head + "  args\n    a string\n        b string\n", "too deep"},
		{head + "  args\n    a block\n      b string\n", "less than two"},
		{head + "  args\n    a string\n      b string\n", "may not have parts"},
		{head + "  args\n    a pure-token\n", "lacks its token"},
	} {
		if err := new(parser).parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	table := load(t)
	get, mset, zunion := line("GET k"), line("MSET a 1 b 2"), line("ZUNION 2 a b WEIGHTS 1 2")
	config := line("config get x")
	keys := make([]KeyRef, 0, 8)
	allocs := testing.AllocsPerRun(100, func() {
		for _, args := range [][][]byte{get, mset, zunion} {
			row, _ := table.Resolve(args)
			keys, _ = row.Keys(args, keys[:0])
			keys = row.RouteKeys(args, keys[:0])
		}
		table.Resolve(config)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	table := load(b)
	for _, name := range []string{"GET", "set", "ZRANGEBYSCORE", "nosuch"} {
		key := []byte(name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				table.Lookup(key)
			}
		})
	}
}

func BenchmarkKeys(b *testing.B) {
	table := load(b)
	for _, words := range []string{
		"GET k", "SET k v", "SET k v EX 10", "MSET a 1 b 2 c 3 d 4", "ZUNION 2 a b", "XREAD COUNT 2 STREAMS a b 0 0",
	} {
		args := line(words)
		row, _ := table.Resolve(args)
		dst := make([]KeyRef, 0, 8)
		b.Run(words, func(b *testing.B) {
			for b.Loop() {
				dst, _ = row.Keys(args, dst[:0])
			}
		})
	}
}

func TestFoldWord(t *testing.T) {
	for c := range 256 {
		want := c
		if c >= 'A' && c <= 'Z' {
			want += 'a' - 'A'
		}
		for shift := 0; shift < 64; shift += 8 {
			others := uint64(0x5a417a61ff80c100) &^ (0xff << shift)
			got := foldWord(others|uint64(c)<<shift) >> shift & 0xff
			if got != uint64(want) {
				t.Fatalf("byte %#x at %d became %#x", c, shift, got)
			}
		}
	}
}
