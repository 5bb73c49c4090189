// Patterns of file names.

package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// Glob lists the paths that match a pattern of filepath.Match, sorted, as include directives want them. Directories that do
// not exist or cannot be read match nothing. Names that begin with a dot match only a pattern that does.
func Glob(fsys FS, pattern string) ([]string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	return expand(fsys, pattern)
}

// expand finds the directories first and looks for the last part of the pattern in each.
func expand(fsys FS, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		_, err := fsys.Stat(pattern)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return []string{pattern}, err
	}
	dir, last := filepath.Split(pattern)
	dir = filepath.Clean(dir)
	dirs := []string{dir}
	if strings.ContainsAny(dir, `*?[\`) {
		var err error
		if dirs, err = expand(fsys, dir); err != nil {
			return nil, err
		}
	}
	var found []string
	for _, d := range dirs {
		entries, err := fsys.ReadDir(d)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(last, ".") {
				continue
			}
			if ok, err := filepath.Match(last, e.Name()); err != nil {
				return nil, err
			} else if ok {
				found = append(found, filepath.Join(d, e.Name()))
			}
		}
	}
	return found, nil
}
