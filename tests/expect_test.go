package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/casefile"
)

// knownFailures are the cases that the server under test is known to fail.
func knownFailures(t testing.TB) (list string, failures map[string]casefile.Failure) {
	t.Helper()
	list = listOf(t)
	failures, err := casefile.ReadExpected(list)
	if err != nil {
		t.Fatal(err)
	}
	return list, failures
}

func listOf(t testing.TB) string {
	t.Helper()
	sut := testkit.SUT(t)
	if sut.IsCovey() {
		return filepath.Join("cases", "pending.txt")
	}
	return filepath.Join("cases", "redis-"+sut.Version(t)+"-differs.txt")
}

// settle compares what went wrong in a case with what was known to go wrong.
func settle(t *testing.T, id string, problems []string) {
	t.Helper()
	list, failures := knownFailures(t)
	failure, known := failures[id]
	switch {
	case known && len(problems) == 0 && !failure.Sometimes:
		t.Errorf("%s passes: take it off %s (%s)", id, list, failure.Reason)
	case known && len(problems) > 0:
		t.Skipf("PENDING %s: %s\n%s", id, failure.Reason, strings.Join(problems, "\n"))
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// own runs a case that is written in Go. If the case is known to fail it must fail.
func own(t *testing.T, id string, run func(t testing.TB)) {
	t.Helper()
	t.Parallel()
	_, failures := knownFailures(t)
	if _, known := failures[id]; !known {
		run(t)
		return
	}
	trial := &trial{TB: t}
	trial.attempt(run)
	trial.cleanUp()
	settle(t, id, trial.problems)
}

// trial stands in for a test that is expected to fail: it notes the failures instead of passing them on.
type trial struct {
	testing.TB
	mu       sync.Mutex // guards what follows; a leaf lock
	problems []string
	cleanups []func()
}

// attempt runs a part of a test in a goroutine, which a fatal failure ends.
func (tr *trial) attempt(run func(t testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(tr)
	}()
	<-done
}

func (tr *trial) cleanUp() {
	for i := len(tr.cleanups) - 1; i >= 0; i-- {
		tr.cleanups[i]()
	}
}

func (tr *trial) note(problem string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.problems = append(tr.problems, problem)
}

func (tr *trial) Cleanup(f func())                  { tr.cleanups = append(tr.cleanups, f) }
func (tr *trial) Error(args ...any)                 { tr.note(fmt.Sprint(args...)) }
func (tr *trial) Errorf(format string, args ...any) { tr.note(fmt.Sprintf(format, args...)) }
func (tr *trial) Fail()                             { tr.note("failed") }
func (tr *trial) Failed() bool                      { return false } // the logs of servers are of no interest
func (tr *trial) FailNow()                          { tr.note("failed"); runtime.Goexit() }
func (tr *trial) Fatal(args ...any)                 { tr.note(fmt.Sprint(args...)); runtime.Goexit() }
func (tr *trial) Fatalf(format string, args ...any) {
	tr.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func TestTrialNotesFailures(t *testing.T) {
	var steps []string
	tr := &trial{TB: t}
	tr.attempt(func(t testing.TB) {
		t.Cleanup(func() { steps = append(steps, "first cleanup") })
		t.Cleanup(func() { steps = append(steps, "last cleanup") })
		t.Errorf("one")
		t.Fatal("two")
		steps = append(steps, "went on")
	})
	tr.cleanUp()
	if got := strings.Join(steps, ", "); got != "last cleanup, first cleanup" {
		t.Errorf("steps: %s", got)
	}
	if got := strings.Join(tr.problems, ", "); got != "one, two" {
		t.Errorf("problems: %s", got)
	}
}

// TestListsNameCases keeps the lists of known failures free of ids that do not exist.
func TestListsNameCases(t *testing.T) {
	exists := map[string]bool{}
	cases, err := casefile.ReadDir("cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if exists[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		exists[c.ID] = true
	}
	for _, id := range ownCases(t) {
		if exists[id] {
			t.Errorf("%s is there twice", id)
		}
		exists[id] = true
	}
	lists, err := filepath.Glob("cases/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		if !casefile.IsList(list) {
			continue
		}
		failures, err := casefile.ReadExpected(list)
		if err != nil {
			t.Fatal(err)
		}
		for id := range failures {
			if !exists[id] {
				t.Errorf("%s lists %s, which does not exist", list, id)
			}
		}
	}
}

// ownCases are the ids of the cases written in Go.
func ownCases(t testing.TB) (ids []string) {
	t.Helper()
	files, err := filepath.Glob("own_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\bown\(t, "(\w+)"`).FindAllSubmatch(text, -1) {
			ids = append(ids, string(found[1]))
		}
	}
	return ids
}
