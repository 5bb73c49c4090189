package config_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/config"
)

// drawValue draws a value that a directive takes, as CONFIG SET has it.
func drawValue(t *rapid.T, d config.Directive) string {
	count := func(most int) int { return rapid.IntRange(0, most).Draw(t, "count") }
	amount := func(from, to int64) string { return strconv.FormatInt(rapid.Int64Range(from, to).Draw(t, "n"), 10) }
	word := func(words ...string) string { return rapid.SampledFrom(words).Draw(t, "word") }
	var parts []string
	switch d.Kind {
	case config.Bool:
		return word("yes", "no", "YES")
	case config.Number:
		return amount(d.Min, d.Max)
	case config.Memory:
		return amount(d.Min, d.Max) + word("", "b")
	case config.MemoryShare:
		return word(amount(0, d.Max), amount(0, 100)+"%")
	case config.Octal:
		return strconv.FormatInt(rapid.Int64Range(d.Min, d.Max).Draw(t, "n"), 8)
	case config.Enum, config.Flags:
		return rapid.SampledFrom(d.Words).Draw(t, "word").Name
	case config.Text:
		return drawText(t, d.Name)
	case config.Directory:
		return "/" + rapid.StringMatching(`[a-z "\\]{1,8}`).Draw(t, "path")
	case config.Save:
		for range count(3) {
			parts = append(parts, amount(1, 1<<40), amount(0, 1<<40))
		}
	case config.Buffers:
		for range count(3) {
			parts = append(parts, word("normal", "replica", "slave", "pubsub"), amount(0, 1<<40)+word("", "kb", "m"), amount(0, 1<<40), amount(0, 99))
		}
	case config.Scores:
		parts = []string{amount(-2000, 2000), amount(-2000, 2000), amount(-2000, 2000)}
	case config.Events:
		return rapid.StringMatching(`[Ag$lshzxeKEtmdn]{0,8}`).Draw(t, "events")
	case config.Addresses:
		for range count(4) {
			parts = append(parts, word("*", "-::*", "127.0.0.1", "-::1", "host"))
		}
	case config.Percentiles:
		for range count(3) {
			parts = append(parts, fmt.Sprintf("%.3f", rapid.Float64Range(0, 100).Draw(t, "p")))
		}
	}
	return strings.Join(parts, " ")
}

// drawText draws bytes of all kinds, or what a text with rules takes.
func drawText(t *rapid.T, name string) string {
	switch name {
	case "dbfilename", "appendfilename", "appenddirname", "proc-title-template", "cluster-announce-human-nodename", "cluster-announce-hostname":
		return rapid.StringMatching(`[a-z0-9.-]{1,8}`).Draw(t, "name")
	case "tls-ciphersuites":
		return rapid.SampledFrom([]string{"", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"}).Draw(t, "suites")
	case "aclfile":
		return "" // it says where users are, which is another test
	}
	return string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "text"))
}

// drawStore draws a file, includes and all, and changes at run time.
func drawStore(t *rapid.T) (*config.Store, files) {
	disk := files{"/base/test.conf": "", "/base/inc.conf": ""}
	rows := config.Directives()
	for _, name := range []string{"/base/inc.conf", "/base/test.conf"} {
		var lines []string
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			d := rapid.SampledFrom(rows).Draw(t, "directive")
			if line := drawLine(t, d); d.Name != "cluster-enabled" {
				lines = append(lines, line)
			}
		}
		if name == "/base/test.conf" && rapid.Bool().Draw(t, "include") {
			at := rapid.IntRange(0, len(lines)).Draw(t, "at")
			lines = append(lines[:at:at], append([]string{"include /base/inc.conf"}, lines[at:]...)...)
		}
		disk[name] = strings.Join(lines, "\n")
	}
	l, err := config.Load(disk.input("test.conf"))
	if err != nil {
		t.Fatal(err)
	}
	s := config.NewStore(l)
	for range rapid.IntRange(0, 8).Draw(t, "changes") {
		d := rapid.SampledFrom(rows).Draw(t, "directive")
		if d.Kind == config.Primary || d.Name == "cluster-enabled" {
			s.SetPrimary(rapid.SampledFrom([]string{"", "h", "a b"}).Draw(t, "host"), 7)
			continue
		}
		value := drawValue(t, d)
		if !d.Has(config.Immutable) && !d.Has(config.Protected) {
			if err := s.Set([]string{d.Name, value}, config.Caller{}); err != nil {
				t.Fatalf("%s %q: %v", d.Name, value, err)
			}
		}
	}
	return s, disk
}

func drawLine(t *rapid.T, d config.Directive) string {
	name := d.Name
	if d.Alias != "" && rapid.Bool().Draw(t, "alias") {
		name = strings.ToUpper(d.Alias)
	}
	switch d.Kind {
	case config.Primary:
		return name + rapid.SampledFrom([]string{" no one", " h 1", ` "::1" 2`}).Draw(t, "primary")
	case config.Text, config.Directory:
		return name + " " + quoted(drawValue(t, d))
	}
	value := drawValue(t, d)
	switch {
	case value != "":
		return name + " " + value
	case d.Kind == config.Buffers: // the one list that is never empty
		return ""
	}
	return name + ` ""`
}

// quoted escapes every byte.
func quoted(s string) string {
	text := `"`
	for i := range len(s) {
		text += fmt.Sprintf(`\x%02x`, s[i])
	}
	return text + `"`
}

// A file that CONFIG REWRITE wrote gives the values that were in force, and writing it again changes nothing.
func TestRewriteProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, disk := drawStore(t)
		once := s.Rewrite(disk["/base/test.conf"], nil)
		disk["/base/test.conf"] = once
		l, err := config.Load(disk.input("test.conf"))
		if err != nil {
			t.Fatalf("%v in\n%s", err, once)
		}
		again := config.NewStore(l)
		if before, after := all(s), all(again); before != after {
			t.Fatalf("before\n%s\nafter\n%s\nfile\n%s", before, after, once)
		}
		if twice := again.Rewrite(once, nil); twice != once {
			t.Fatalf("once\n%s\ntwice\n%s", once, twice)
		}
	})
}

// What CONFIG GET shows, CONFIG SET takes, and it changes nothing.
func TestGetAndSetAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawStore(t)
		before := all(s)
		for _, d := range config.Directives() {
			if d.Has(config.Immutable) || d.Has(config.Protected) {
				continue
			}
			if err := s.Set([]string{d.Name, s.String(d.Name)}, config.Caller{}); err != nil {
				t.Fatalf("%s %q: %v", d.Name, s.String(d.Name), err)
			}
		}
		if after := all(s); after != before {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
	})
}

// A CONFIG SET is carried out as a whole or not at all.
func TestSetProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawStore(t)
		before := all(s)
		var args []string
		for range rapid.IntRange(1, 5).Draw(t, "pairs") {
			d := rapid.SampledFrom(config.Directives()).Draw(t, "directive")
			value := rapid.SampledFrom([]string{"", "x", "-1", "1", "yes", "1 2 3", "101%", "9223372036854775808"}).Draw(t, "value")
			args = append(args, d.Name, value)
		}
		if err := s.Set(args, config.Caller{}); err == nil {
			return
		}
		if after := all(s); after != before {
			t.Fatalf("%q\nbefore\n%s\nafter\n%s", args, before, after)
		}
	})
}

// FuzzLoad wants no file to upset the parser, and what it takes to survive CONFIG REWRITE.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"port 1\nsave 1 1 2 2\nsave \"\"\n# x\n\n", "requirepass \"\\x00\\n\\\"\"", "bind a b\nuser x on\nrename-command A \"\"",
		"replicaof \"a\" 1\nclient-output-buffer-limit normal 1gb 2 3", "notify-keyspace-events An\nshutdown-on-sigint now save",
		"latency-tracking-info-percentiles 1e1 99.999999\nmaxmemory-clients 1%", "include x\n", "dir ../..//x\r\nhz 99999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		disk := files{"/base/test.conf": text}
		l, err := config.Load(disk.input("test.conf"))
		if err != nil {
			return
		}
		s := config.NewStore(l)
		once := s.Rewrite(text, nil)
		disk["/base/test.conf"] = once
		l, err = config.Load(disk.input("test.conf"))
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		again := config.NewStore(l)
		if before, after := all(s), all(again); before != after {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
		if twice := again.Rewrite(once, nil); twice != once {
			t.Fatalf("once\n%s\ntwice\n%s", once, twice)
		}
	})
}
