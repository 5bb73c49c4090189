package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun calls the program as a user does who does not know it yet.
func TestRun(t *testing.T) {
	typo := filepath.Join(t.TempDir(), "typo.conf")
	if err := os.WriteFile(typo, []byte("port 0\nmaxmemroy 1gb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args      string
		code      int
		out, errs string // what is in them, "" for nothing at all
	}{
		{"covey", 1, "", "See: covey --help"},
		{"covey --help", 0, "Run a whole cluster on this machine.", ""},
		{"covey --version", 0, "compatible with Redis 7.2.4", ""},
		{"covey up --help", 0, "Port of the first node", ""},
		{"covey srver", 1, "", `did you mean "server"?`},
		{"covey up --primary 3", 1, "", "unknown flag --primary"},
		{"covey up --primaries 2", 1, "", "at least 3 primaries"},
		{"covey check nowhere.rdb", 1, "", "nowhere.rdb: no such file or directory"},
		{"covey check " + filepath.Dir(typo), 1, "", "is a folder; name the RDB file"},
		{"covey sim --scenario nowhere", 1, "", "kill-primary"},
		{"covey sim --scenario kill-primary --nodes 5", 1, "", "6 to 1000 nodes"},
		{"covey sim --scenario kill-primary --nodes=-6", 1, "", "6 to 1000 nodes"},
		{"covey sim --nodes 6", 1, "", "--nodes is for a --scenario"},
		{"covey sim --swarm 2 --nodes 6", 1, "", "--nodes is for a --scenario"},
		{"covey server --help", 0, "Usage: covey server", ""},
		{"covey server --version", 0, "Redis server v=7.2.4", ""},
		{"redis-server --version", 0, "Redis server v=7.2.4", ""},
		{"covey server --prot 1", 1, "", ">>> 'prot \"1\"'\nBad directive"},
		{"covey server " + typo, 1, "", "at line 2\n>>> 'maxmemroy 1gb'\nBad directive"},
		{"covey server nowhere.conf", 1, "", "nowhere.conf': No such file or directory"},
		{"redis-check-aof", 1, "Usage: redis-check-aof", ""},
	} {
		var out, errs strings.Builder
		if code := run(strings.Fields(c.args), strings.NewReader(""), &out, &errs); code != c.code {
			t.Errorf("%s: code %d, want %d", c.args, code, c.code)
		}
		for _, stream := range []struct{ name, got, want string }{{"output", out.String(), c.out}, {"errors", errs.String(), c.errs}} {
			if !strings.Contains(stream.got, stream.want) || stream.want == "" && stream.got != "" {
				t.Errorf("%s: %s %q, want %q", c.args, stream.name, stream.got, stream.want)
			}
		}
	}
}
