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

// ReadExpected reads a list of cases that are known to fail: lines of a reason, a colon and case ids. A file that does not
// exist is an empty list. The result gives the reason by case id.
func ReadExpected(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseExpected(path, string(text))
}

func parseExpected(path, text string) (map[string]string, error) {
	reasons := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndex(line, ": ")
		if at < 0 {
			return nil, fmt.Errorf("%s:%d: no reason with a colon", path, i+1)
		}
		for id := range strings.FieldsSeq(line[at+2:]) {
			if old, ok := reasons[id]; ok {
				return nil, fmt.Errorf("%s:%d: %s is listed already (%s)", path, i+1, id, old)
			}
			reasons[id] = line[:at]
		}
	}
	return reasons, nil
}
