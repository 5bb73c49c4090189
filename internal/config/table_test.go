package config_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/config"
)

var update = flag.Bool("update", false, "write the files of expected output anew")

// golden compares a text with a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("%s does not say any more what is true; compare, and run with -update:\n%s", path, got)
	}
}

// What tools see of a fresh server.
func TestConfigGetAll(t *testing.T) {
	var b strings.Builder
	for _, p := range load(t, "").Get("*") {
		b.WriteString(strings.TrimRight(p.Name+" "+p.Value, " ") + "\n")
	}
	golden(t, "testdata/config_get_all.txt", b.String())
}

// The tables in the documentation are generated.
func TestDocumentation(t *testing.T) {
	const path = "../../docs/configuration.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for name, table := range map[string]string{"without effect": config.WithoutEffect()} {
		before, rest, ok := strings.Cut(whole, "<!-- generated: "+name+" -->\n")
		_, after, closed := strings.Cut(rest, "<!-- end -->\n")
		if !ok || !closed {
			t.Fatalf("%s has no table %q", path, name)
		}
		whole = before + "<!-- generated: " + name + " -->\n" + table + "<!-- end -->\n" + after
	}
	golden(t, path, whole)
	for _, d := range config.Directives() {
		if d.Has(config.Own) && !strings.Contains(whole, "`"+d.Name+"`") {
			t.Errorf("%s does not name %s", path, d.Name)
		}
	}
}

func TestTable(t *testing.T) {
	for _, d := range config.Directives() {
		for _, name := range []string{d.Name, strings.ToUpper(d.Name), d.Alias} {
			found, ok := config.Lookup(name)
			if name != "" && (!ok || found.Name != d.Name) {
				t.Errorf("%s is found as %s", name, found.Name)
			}
		}
		if isNumber := d.Kind == config.Number || d.Kind == config.Memory; isNumber && d.Min > d.Max {
			t.Errorf("%s: no number fits", d.Name)
		}
		if isWords := d.Kind == config.Enum || d.Kind == config.Flags; isWords && len(d.Words) < 2 {
			t.Errorf("%s: no words to choose from", d.Name)
		}
		if strings.HasSuffix(d.NoEffect, ".") || strings.Contains(d.NoEffect, "|") {
			t.Errorf("%s: %q does not fit into the table of the documentation", d.Name, d.NoEffect)
		}
	}
	if _, ok := config.Lookup("nosuch"); ok {
		t.Error("nosuch was found")
	}
}

func BenchmarkInt(b *testing.B) {
	l, err := config.Load(config.Input{WorkDir: workDir})
	if err != nil {
		b.Fatal(err)
	}
	s := config.NewStore(l)
	b.ReportAllocs()
	for b.Loop() {
		if s.Int("maxmemory-samples") != 5 {
			b.Fatal("wrong")
		}
	}
}
