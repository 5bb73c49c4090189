package tests

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/spec"
	"github.com/covey-db/covey/internal/testkit"
)

var updateDocs = flag.Bool("update", false, "write docs/compatibility.md anew")

// commandGroups are the groups of commands, in the order of the page.
var commandGroups = []struct{ group, title string }{
	{"string", "Strings"}, {"generic", "Keys"}, {"list", "Lists"}, {"hash", "Hashes"}, {"set", "Sets"}, {"sorted-set", "Sorted sets"},
	{"stream", "Streams"}, {"bitmap", "Bitmaps"}, {"hyperloglog", "HyperLogLog"}, {"geo", "Geo"}, {"pubsub", "Publish/subscribe"},
	{"transactions", "Transactions"}, {"scripting", "Scripts and functions"}, {"connection", "Connections"}, {"server", "Server"},
	{"cluster", "Cluster"}, {"sentinel", "Sentinel"},
}

// TestCommandsInTheDocs: docs/compatibility.md lists every command of Redis with its state. Run with -update after a change.
func TestCommandsInTheDocs(t *testing.T) {
	t.Parallel()
	table, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	there := set(testkit.Start(t, testkit.Options{Binary: testkit.Covey(t), Conf: []string{"cluster-enabled yes"}}).Dial(t).
		OK(t, "COMMAND", "LIST", "FILTERBY", "PATTERN", "*").Strings())
	path := filepath.Join("..", "docs", "compatibility.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| group | done | there | not yet |\n|---|---|---|---|\n"
	before, rest, found := strings.Cut(string(page), head)
	_, after, end := strings.Cut(rest, "\n\n")
	if !found || !end {
		t.Fatalf("%s has no table of commands", path)
	}
	want := before + head + commandTable(table, there) + "\n" + after
	if string(page) == want {
		return
	}
	if !*updateDocs {
		t.Fatalf("%s does not say any more what is true; run this test with -update", path)
	}
	must(t, os.WriteFile(path, []byte(want), 0o644))
}

// commandTable has a row for each group. A command with sub-commands stands for itself only through them.
func commandTable(table *spec.Table, there map[string]bool) string {
	done, missing := map[string][]string{}, map[string][]string{}
	for row := range table.All() {
		if len(row.Subs) > 0 {
			continue
		}
		name := strings.ToUpper(strings.ReplaceAll(row.Full, "|", " "))
		if there[row.Full] {
			done[row.Group] = append(done[row.Group], name)
		} else {
			missing[row.Group] = append(missing[row.Group], name)
		}
	}
	var text strings.Builder
	for _, g := range commandGroups {
		have, lack := done[g.group], missing[g.group]
		if len(have)+len(lack) == 0 {
			continue
		}
		sort.Strings(have)
		sort.Strings(lack)
		fmt.Fprintf(&text, "| %s | %d of %d | %s | %s |\n", g.title, len(have), len(have)+len(lack), orDash(have), orDash(lack))
	}
	return text.String()
}

func orDash(names []string) string {
	if len(names) == 0 {
		return "—"
	}
	return "`" + strings.Join(names, "` `") + "`"
}
