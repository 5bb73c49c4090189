package sim

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/testkit"
)

var update = flag.Bool("update", false, "write the stories of the scripts anew")

// Every script must run, and its story must be the one that is written below it.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			if testkit.Race && strings.Contains(file, "hundred") {
				t.Skip("too slow under the race detector")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parseScript(string(text))
			if err != nil {
				t.Fatal(err)
			}
			got := story(t, s)
			if t.Failed() {
				return
			}
			if *update {
				body, _, _ := strings.Cut(string(text), "\n"+separator+"\n")
				if err := os.WriteFile(file, []byte(strings.TrimRight(body, "\n")+"\n"+separator+"\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != s.want {
				t.Errorf("the story is another than in %s (go test -update writes it anew):\n%s", file, got)
			}
		})
	}
}

// story runs a script with its own size and seed and gives what it prints after the cluster was made.
func story(t *testing.T, s *script) string {
	size, seed, err := s.commands[0].shape()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := newWorld(uint64(seed), &out)
	w.trace.level, w.trace.story = core.Info, true
	if err := w.play(s, size); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	_, after, _ := strings.Cut(out.String(), " "+ready+": ")
	_, after, _ = strings.Cut(after, "\n")
	return after
}
