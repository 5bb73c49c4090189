// Files that get their name when they are whole.

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tempTriesMax is how many files of one name may lie around before CreateTemp gives up.
const tempTriesMax = 10_000

// CreateTemp makes a new file in dir for reading and writing. Its name is before, a number that no other file has, and
// after.
func CreateTemp(fsys FS, dir, before, after string) (File, error) {
	for n := 1; ; n++ {
		path := filepath.Join(dir, before+strconv.Itoa(n)+after)
		f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
		if !errors.Is(err, fs.ErrExist) || n == tempTriesMax {
			return f, err
		}
	}
}

// RemoveTemp removes the files of dir that CreateTemp could have made, and tells which they were.
func RemoveTemp(fsys FS, dir, before, after string) (removed []string, err error) {
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range list {
		middle, is := strings.CutPrefix(entry.Name(), before)
		middle, ends := strings.CutSuffix(middle, after)
		if _, bad := strconv.Atoi(middle); !is || !ends || bad != nil || entry.IsDir() {
			continue
		}
		if failed := fsys.Remove(filepath.Join(dir, entry.Name())); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed = append(removed, entry.Name())
	}
	return removed, err
}
