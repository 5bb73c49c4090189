package config_test

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/config"
)

const workDir = "/base"

// files is a disk for includes.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	text, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (f files) glob(pattern string) ([]string, error) {
	var found []string
	for name := range f {
		if ok, err := path.Match(pattern, name); err != nil {
			return nil, err
		} else if ok {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found, nil
}

// input is a start of the server with these files, where "stdin" stands for standard input.
func (f files) input(args ...string) config.Input {
	return config.Input{
		Args:     args,
		WorkDir:  workDir,
		ReadFile: f.read,
		Glob:     f.glob,
		Stdin:    func() ([]byte, error) { return f.read("stdin") },
	}
}

// load reads one file.
func load(t *testing.T, text string) *config.Store {
	t.Helper()
	return loadFiles(t, files{"/base/test.conf": text}, "test.conf")
}

func loadFiles(t *testing.T, f files, args ...string) *config.Store {
	t.Helper()
	l, err := config.Load(f.input(args...))
	if err != nil {
		t.Fatal(err)
	}
	return config.NewStore(l)
}

// loadError reads one file that must be refused.
func loadError(t *testing.T, text string) *config.Error {
	t.Helper()
	_, err := config.Load(files{"/base/test.conf": text}.input("test.conf"))
	var e *config.Error
	if !errors.As(err, &e) {
		t.Fatalf("%q: %v is no config.Error", text, err)
	}
	return e
}

// all is what CONFIG GET shows, hidden directives included, as lines.
func all(s *config.Store) string {
	var b strings.Builder
	for _, d := range config.Directives() {
		b.WriteString(d.Name + " " + s.String(d.Name) + "\n")
	}
	return b.String()
}

func set(t *testing.T, s *config.Store, args ...string) {
	t.Helper()
	if err := s.Set(args, config.Caller{}); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
}

func wantSetError(t *testing.T, s *config.Store, want string, args ...string) {
	t.Helper()
	err := s.Set(args, config.Caller{})
	if err == nil || err.Error() != want {
		t.Fatalf("%q: got %v, want %s", args, err, want)
	}
}

func wantValue(t *testing.T, s *config.Store, name, want string) {
	t.Helper()
	if got := s.String(name); got != want {
		t.Fatalf("%s is %q, want %q", name, got, want)
	}
}
