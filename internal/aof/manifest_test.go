package aof

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestManifestOfRedis(t *testing.T) {
	const text = "file appendonly.aof.2.base.rdb seq 2 type b\n" +
		"file appendonly.aof.3.incr.aof seq 3 type h\n" +
		"file appendonly.aof.4.incr.aof seq 4 type i\n" +
		"file \"append only\\x01.aof.7.incr.aof\" seq 7 type i\n"
	m, err := ParseManifest([]byte("# a comment\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.AppendText(nil)); got != text {
		t.Fatalf("%q", got)
	}
	if files := m.Files(); len(files) != 3 || files[2].Name != "append only\x01.aof.7.incr.aof" || files[0].Kind != Base {
		t.Fatal(files)
	}
	if f := m.NewIncr(Names{"a"}); f != (File{"a.8.incr.aof", 8, Incr}) {
		t.Error(f)
	}
	if f := m.NewBase(Names{"a"}, false); f != (File{"a.3.base.aof", 3, Base}) {
		t.Error(f)
	}
}

func TestDamagedManifests(t *testing.T) {
	const base, incr = "file a.1.base.rdb seq 1 type b\n", "file a.1.incr.aof seq 1 type i\n"
	for text, want := range map[string]string{
		"":                               reasonEmpty,
		base + base:                      reasonTwoBases,
		incr + incr:                      reasonBackwards,
		incr + "\n" + base:               reasonFormat,
		strings.TrimSuffix(incr, "\n"):   reasonLong,
		"file a seq 1 type x\n":          reasonKind,
		"file a/b seq 1 type i\n":        reasonPath,
		"file .. seq 1 type i\n":         reasonPath,
		"filx a seq 1 type i\n":          reasonFormat,
		"file a type i\n":                reasonFormat,
		"file a seq 0 type i\n":          reasonFormat,
		"file a seq 1 type i newkey\n":   reasonFormat,
		"file \"a seq 1 type i\n":        reasonFormat,
		strings.Repeat("x", 1023) + "\n": reasonFormat,
		strings.Repeat("x", 1024) + "\n": reasonLong,
	} {
		_, err := ParseManifest([]byte(text))
		var bad *ManifestError
		if !errors.As(err, &bad) || bad.Reason != want {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{base + incr, "file a seq 1 type i newkey newvalue\n", "FILE a SEQ 1x TYPE incr\r\n", "#\n" + base} {
		if _, err := ParseManifest([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestManifestLife lets a set live through rewrites, switches and restarts, and compares it with a plain model.
func TestManifestLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := Names{rapid.StringMatching(`[a-z "'\x01é]{1,8}`).Draw(t, "name")}
		m := &Manifest{}
		var base string
		var incr, history []string
		retire := func(keep int) {
			for len(incr) > keep {
				history = append([]string{incr[0]}, history...)
				incr = incr[1:]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"incr": func(*rapid.T) { incr = append(incr, m.NewIncr(names).Name) },
			"base": func(t *rapid.T) {
				if base != "" {
					history = append([]string{base}, history...)
				}
				base = m.NewBase(names, rapid.Bool().Draw(t, "rdb")).Name
				keep := rapid.IntRange(0, 1).Draw(t, "keep")
				m.RetireIncr(keep)
				retire(keep)
			},
			"collect": func(*rapid.T) { m.History, history = nil, nil },
			"clone": func(*rapid.T) {
				before := m
				m = m.Clone()
				before.NewIncr(names)
				before.NewBase(names, true)
			},
			"restart": func(t *rapid.T) {
				text := m.AppendText(nil)
				if len(text) == 0 {
					return
				}
				next, err := ParseManifest(text)
				if err != nil {
					t.Fatal(err)
				}
				m = next
			},
			"": func(t *rapid.T) {
				var gotBase string
				if m.Base != nil {
					gotBase = m.Base.Name
				}
				name := func(list []File) (out []string) {
					for _, f := range list {
						out = append(out, f.Name)
					}
					return out
				}
				if gotBase != base || !slices.Equal(name(m.Incr), incr) || !slices.Equal(name(m.History), history) {
					t.Fatalf("%s, want %q %q %q", m.AppendText(nil), base, incr, history)
				}
			},
		})
	})
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte("file appendonly.aof.1.base.rdb seq 1 type b\nfile \"a\\x00\" seq 2 type i\n# x\n"))
	f.Add([]byte("file a seq 99999999999999999999 type h\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		written := m.AppendText(nil)
		if len(written) == 0 {
			return
		}
		for _, line := range strings.Split(string(written), "\n") {
			if len(line) >= lineMax {
				return // quoted, the name is longer than it was
			}
		}
		again, err := ParseManifest(written)
		if err != nil || string(again.AppendText(nil)) != string(written) {
			t.Fatalf("%q: %v", written, err)
		}
	})
}
