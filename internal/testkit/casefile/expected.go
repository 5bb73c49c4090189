package casefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// IsList tells the files that list known failures from those that hold cases.
func IsList(path string) bool {
	name := filepath.Base(path)
	return name == "pending.txt" || strings.HasSuffix(name, "-differs.txt")
}

// Failure says why a case is known to fail.
type Failure struct {
	Reason    string
	Sometimes bool // it passes as well, by luck
}

// ReadExpected reads a list of cases that are known to fail: lines of a reason, a colon and case ids; "?" behind an id
// marks one that passes sometimes. A file that does not exist is an empty list. The result is by case id.
func ReadExpected(path string) (map[string]Failure, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseExpected(path, string(text))
}

func parseExpected(path, text string) (map[string]Failure, error) {
	failures := map[string]Failure{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndex(line, ": ")
		if at < 0 {
			return nil, fmt.Errorf("%s:%d: no reason with a colon", path, i+1)
		}
		for id := range strings.FieldsSeq(line[at+2:]) {
			id, sometimes := strings.CutSuffix(id, "?")
			if old, ok := failures[id]; ok {
				return nil, fmt.Errorf("%s:%d: %s is listed already (%s)", path, i+1, id, old.Reason)
			}
			failures[id] = Failure{Reason: line[:at], Sometimes: sometimes}
		}
	}
	return failures, nil
}
