package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// This file holds the tests on stored packets. A fixture is text: offset and 16 bytes a line; lines that
// repeat the one before them are left out, except the last.

func writeDump(t *testing.T, path string, b []byte) {
	t.Helper()
	var out strings.Builder
	var before []byte
	for at := 0; at < len(b); at += 16 {
		row := b[at:min(at+16, len(b))]
		if last := at+16 >= len(b); last || !bytes.Equal(row, before) {
			fmt.Fprintf(&out, "%04x %x\n", at, row)
		}
		before = row
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readDump(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b, row []byte
	for line := range strings.Lines(string(text)) {
		offset, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := strconv.ParseUint(offset, 16, 24)
		for err == nil && len(row) == 16 && len(b) < int(at) {
			b = append(b, row...)
		}
		var err2 error
		if row, err2 = hex.DecodeString(digits); err != nil || err2 != nil || len(b) != int(at) {
			t.Fatalf("%s: bad line %q", path, line)
		}
		b = append(b, row...)
	}
	return b
}

// TestEncodedFixtures holds our encoder to stored bytes. The live tests send the same forms to a redis-server.
func TestEncodedFixtures(t *testing.T) {
	for kind := range TypeCount {
		path := filepath.Join("testdata", "encoded", kind.String()+".hex")
		got := AppendPacket(nil, samplePacket(t, kind))
		if *update {
			writeDump(t, path, got)
		}
		if want := readDump(t, path); !bytes.Equal(got, want) {
			t.Errorf("%v is encoded as\n%x\nnot as\n%x", kind, got, want)
		}
	}
}

// TestCapturedFixtures parses packets that redis-server sent, and writes them again.
func TestCapturedFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/captured/*.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	types := map[Type]bool{}
	for _, file := range files {
		types[checkCaptured(t, file, readDump(t, file)).Type] = true
	}
	for kind := range TypeCount {
		if !types[kind] && kind != TypeModule && kind != TypePublishShard { // modules, and replicas' subscribers
			t.Errorf("no fixture of a %v", kind)
		}
	}
}

func checkCaptured(t *testing.T, name string, b []byte) *Packet {
	t.Helper()
	p := parseOne(t, b)
	if p.GossipSkipped+p.Ext.Refused+p.Ext.Unknown != 0 {
		t.Errorf("%s: parts were left out: %+v", name, p)
	}
	if again := AppendPacket(nil, p); !bytes.Equal(again, b) {
		t.Errorf("%s:\n%x\nis written as\n%x", name, b, again)
	}
	return p
}
