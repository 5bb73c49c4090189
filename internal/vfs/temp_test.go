package vfs_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/covey-db/covey/internal/vfs"
)

func TestTempFiles(t *testing.T) {
	m := vfs.NewMem()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.MkdirAll("/d/t-7-x", 0o755))
	for _, name := range []string{"/d/t-1-x", "/d/t-one-x", "/d/t-1-y", "/d/u-1-x"} {
		must(vfs.WriteFileAtomic(m, name, nil))
	}
	f, err := vfs.CreateTemp(m, "/d", "t-", "-x")
	must(err)
	if f.Name() != "/d/t-2-x" {
		t.Fatal(f.Name())
	}
	removed, err := vfs.RemoveTemp(m, "/d", "t-", "-x")
	if want := []string{"t-1-x", "t-2-x"}; err != nil || !slices.Equal(removed, want) {
		t.Fatal(removed, err)
	}
	if list, _ := m.ReadDir("/d"); len(list) != 4 {
		t.Fatal(list)
	}
	if _, err := vfs.RemoveTemp(m, "/nosuch", "t-", "-x"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := vfs.CreateTemp(m, "/nosuch", "t-", "-x"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
