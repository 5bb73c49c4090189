package rdb

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// fixtures are the stored files.
func fixtures(f *testing.F) [][]byte {
	f.Helper()
	names, err := filepath.Glob("testdata/*.rdb")
	if err != nil || len(names) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	var all [][]byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// payloadsOf cuts a file of one database into payloads without footer.
type payloadsOf struct {
	*copier
	all [][]byte
}

func (p *payloadsOf) End() error {
	err := p.copier.End()
	p.all = append(p.all, append([]byte{byte(p.typ)}, p.body...))
	return err
}

// Any content of a file is decoded or refused. What is decoded can be written, and reads the same again, from compact values and from
// plain ones.
func FuzzDecode(f *testing.F) {
	for _, file := range fixtures(f) {
		f.Add(uint8(10), file[headerBytes:len(file)-1-checksumBytes])
	}
	f.Fuzz(func(t *testing.T, version uint8, content []byte) {
		file := fileOf(int(version)%(ReadVersionMax+2), string(content))
		opts := Options{Unsummed: true}
		plain := newModel(false)
		if _, err := NewDecoder(&pieces{b: file, n: 100}, opts).Decode(plain); err != nil {
			return
		}
		if len(plain.modules) > 0 {
			return // not written again
		}
		for _, packs := range []bool{false, true} {
			c := newCopier(packs, true)
			if _, err := NewDecoder(bytes.NewReader(file), opts).Decode(c); err != nil {
				t.Fatalf("once taken, once refused: %v", err)
			}
			again := newModel(false)
			if _, err := NewDecoder(bytes.NewReader(c.finished()), Options{}).Decode(again); err != nil {
				t.Fatalf("our own file is refused: %v", err)
			}
			for key, want := range plain.keys {
				if again.keys[key] != want && !hasFieldExpiry(want) {
					t.Fatalf("key %q:\n got %s\nwant %s", key, again.keys[key], want)
				}
			}
		}
	})
}

// hasFieldExpiry tells whether a value has what version 10 cannot write.
func hasFieldExpiry(value string) bool { return bytes.Contains([]byte(value), []byte(" until ")) }

// The same for payloads, whose footer is put around any bytes.
func FuzzDecodeDump(f *testing.F) {
	for _, file := range fixtures(f) {
		for _, packs := range []bool{false, true} {
			p := &payloadsOf{copier: newCopier(packs, false)}
			if _, err := NewDecoder(bytes.NewReader(file), Options{}).Decode(p); err != nil {
				f.Fatal(err)
			}
			for _, body := range p.all {
				f.Add(body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		payload := closed(string(body))
		plain, compact := newModel(false), newModel(true)
		err := decodeDump(payload, plain)
		if again := decodeDump(payload, compact); (err == nil) != (again == nil) {
			t.Fatalf("plain: %v, compact: %v", err, again)
		}
		if err == nil && plain.keys[""] != compact.keys[""] {
			t.Fatalf("plain %s\ncompact %s", plain.keys[""], compact.keys[""])
		}
	})
}
