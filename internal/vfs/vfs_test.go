package vfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/covey-db/covey/internal/vfs"
)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// disk is a file system under test and a directory of it that the test may fill.
type disk struct {
	vfs.FS
	root string
}

func (d disk) path(name string) string { return filepath.Join(d.root, name) }

func disks(t *testing.T) map[string]disk {
	t.Helper()
	mem := vfs.NewMem()
	return map[string]disk{
		"os":          {vfs.OS{}, t.TempDir()},
		"mem":         {mem, "/"},
		"mem below":   {subDir(t, vfs.NewMem(), "/a/b"), "/a/b"},
		"faulty mem":  {vfs.NewFaulty(vfs.NewMem()), "/"},
		"faulty os":   {vfs.NewFaulty(vfs.OS{}), t.TempDir()},
		"mem no root": {vfs.NewMem(), ""},
	}
}

func subDir(t *testing.T, fsys vfs.FS, path string) vfs.FS {
	t.Helper()
	ok(t, fsys.MkdirAll(path, 0o755))
	return fsys
}

// onAll runs a test on every file system.
func onAll(t *testing.T, test func(*testing.T, disk)) {
	t.Helper()
	all := disks(t)
	for _, name := range []string{"os", "mem", "mem below", "mem no root", "faulty mem", "faulty os"} {
		t.Run(name, func(t *testing.T) { test(t, all[name]) })
	}
}

func ok(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t tester, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func (d disk) write(t tester, name, content string) {
	t.Helper()
	f, err := d.Create(d.path(name))
	ok(t, err)
	n, err := f.Write([]byte(content))
	ok(t, err)
	if n != len(content) {
		t.Fatalf("wrote %d of %d bytes", n, len(content))
	}
	ok(t, f.Close())
}

func (d disk) want(t tester, name, content string) {
	t.Helper()
	got, err := d.ReadFile(d.path(name))
	ok(t, err)
	if string(got) != content {
		t.Fatalf("%s is %q, want %q", name, got, content)
	}
}

func TestFileContent(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		f, err := d.Create(d.path("f"))
		ok(t, err)
		if f.Name() != d.path("f") {
			t.Fatal(f.Name())
		}
		_, err = f.Write([]byte("hello world"))
		ok(t, err)
		at, err := f.Seek(-5, io.SeekEnd)
		ok(t, err)
		if at != 6 {
			t.Fatal(at)
		}
		_, err = f.Write([]byte("W"))
		ok(t, err)
		_, err = f.WriteAt([]byte("J"), 0)
		ok(t, err)
		rest, err := io.ReadAll(f)
		ok(t, err)
		if string(rest) != "orld" {
			t.Fatalf("%q", rest)
		}
		_, err = f.Seek(3, io.SeekCurrent)
		ok(t, err)
		_, err = f.Write([]byte("!"))
		ok(t, err)
		d.want(t, "f", "Jello World\x00\x00\x00!")
		ok(t, f.Truncate(3))
		ok(t, f.Truncate(5))
		ok(t, f.Sync())
		ok(t, f.SyncData())
		d.want(t, "f", "Jel\x00\x00")
		info, err := f.Stat()
		ok(t, err)
		if info.Size() != 5 || info.Name() != "f" || info.IsDir() {
			t.Fatalf("%v %v", info.Size(), info.Name())
		}
		var b [4]byte
		n, err := f.ReadAt(b[:], 3)
		if n != 2 || err != io.EOF {
			t.Fatal(n, err)
		}
		n, err = f.ReadAt(b[:], 9)
		if n != 0 || err != io.EOF {
			t.Fatal(n, err)
		}
		ok(t, f.Close())
		is(t, f.Close(), fs.ErrClosed)
		_, err = f.Read(b[:])
		is(t, err, fs.ErrClosed)
		_, err = f.Write(b[:])
		is(t, err, fs.ErrClosed)
		is(t, f.Sync(), fs.ErrClosed)
	})
}

func TestBadOffsets(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		f, err := d.Create(d.path("f"))
		ok(t, err)
		defer func() { ok(t, f.Close()) }()
		_, err = f.Seek(-1, io.SeekStart)
		is(t, err, syscall.EINVAL)
		is(t, f.Truncate(-1), syscall.EINVAL)
		if _, err := f.ReadAt(make([]byte, 1), -1); err == nil {
			t.Fatal("read in front of the file")
		}
		if _, err := f.WriteAt(make([]byte, 1), -1); err == nil {
			t.Fatal("wrote in front of the file")
		}
	})
}

func TestOpenFlags(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		open := func(name string, flag int) (vfs.File, error) { return d.OpenFile(d.path(name), flag, 0o600) }
		_, err := open("f", os.O_RDWR)
		is(t, err, fs.ErrNotExist)
		f, err := open("f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
		ok(t, err)
		ok(t, f.Close())
		_, err = open("f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
		is(t, err, fs.ErrExist)
		d.write(t, "f", "12345")

		f, err = open("f", os.O_RDWR|os.O_APPEND)
		ok(t, err)
		_, err = f.Seek(0, io.SeekStart)
		ok(t, err)
		_, err = f.Write([]byte("6"))
		ok(t, err)
		d.want(t, "f", "123456")
		if _, err := f.WriteAt([]byte("x"), 0); err == nil {
			t.Fatal("WriteAt on a file to append to")
		}
		ok(t, f.Close())

		f, err = open("f", os.O_WRONLY)
		ok(t, err)
		_, err = f.Read(make([]byte, 1))
		is(t, err, syscall.EBADF)
		ok(t, f.Close())

		f, err = d.Open(d.path("f"))
		ok(t, err)
		_, err = f.Write([]byte("x"))
		is(t, err, syscall.EBADF)
		is(t, f.Truncate(0), syscall.EINVAL)
		ok(t, f.Close())

		f, err = open("f", os.O_WRONLY|os.O_TRUNC)
		ok(t, err)
		ok(t, f.Close())
		d.want(t, "f", "")

		_, err = open("none/f", os.O_RDWR|os.O_CREATE)
		is(t, err, fs.ErrNotExist)
		_, err = open("f/f", os.O_RDWR|os.O_CREATE)
		is(t, err, syscall.ENOTDIR)
	})
}

func TestDirectories(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		ok(t, d.MkdirAll(d.path("a/b/c"), 0o755))
		ok(t, d.MkdirAll(d.path("a/b"), 0o755))
		d.write(t, "a/b/z", "1")
		d.write(t, "a/b/y", "")
		is(t, d.MkdirAll(d.path("a/b/z/q"), 0o755), syscall.ENOTDIR)
		var names []string
		list, err := d.ReadDir(d.path("a/b"))
		ok(t, err)
		for _, e := range list {
			info, err := e.Info()
			ok(t, err)
			names = append(names, fmt.Sprintf("%s %v %v", e.Name(), e.IsDir(), info.IsDir()))
		}
		if want := []string{"c true true", "y false false", "z false false"}; !slices.Equal(names, want) {
			t.Fatal(names)
		}
		info, err := d.Stat(d.path("a/b"))
		ok(t, err)
		if !info.IsDir() || info.Name() != "b" {
			t.Fatal(info.Name(), info.Mode())
		}
		_, err = d.ReadDir(d.path("none"))
		is(t, err, fs.ErrNotExist)
		_, err = d.ReadDir(d.path("a/b/z"))
		is(t, err, syscall.ENOTDIR)
		_, err = d.ReadFile(d.path("a/b"))
		is(t, err, syscall.EISDIR)
		_, err = d.Create(d.path("a/b"))
		is(t, err, syscall.EISDIR)
		_, err = d.Stat(d.path("a/b/z/q"))
		is(t, err, syscall.ENOTDIR)
		f, err := d.Open(d.path("a"))
		ok(t, err)
		_, err = f.Read(make([]byte, 1))
		is(t, err, syscall.EISDIR)
		ok(t, f.Close())
		ok(t, d.SyncDir(d.path("a/b")))
		is(t, d.SyncDir(d.path("none")), fs.ErrNotExist)
	})
}

func TestRemove(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		ok(t, d.MkdirAll(d.path("a"), 0o755))
		d.write(t, "a/f", "x")
		is(t, d.Remove(d.path("a")), syscall.ENOTEMPTY)
		f, err := d.Open(d.path("a/f"))
		ok(t, err)
		ok(t, d.Remove(d.path("a/f")))
		content, err := io.ReadAll(f) // an open file lives on
		ok(t, err)
		if string(content) != "x" {
			t.Fatalf("%q", content)
		}
		ok(t, f.Close())
		is(t, d.Remove(d.path("a/f")), fs.ErrNotExist)
		ok(t, d.Remove(d.path("a")))
		_, err = d.Stat(d.path("a"))
		is(t, err, fs.ErrNotExist)
	})
}

func TestRename(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		d.write(t, "f", "new")
		d.write(t, "g", "old")
		ok(t, d.Rename(d.path("f"), d.path("g")))
		d.want(t, "g", "new")
		is(t, d.Rename(d.path("f"), d.path("g")), fs.ErrNotExist)
		ok(t, d.Rename(d.path("g"), d.path("g")))
		ok(t, d.MkdirAll(d.path("a/b"), 0o755))
		ok(t, d.Rename(d.path("g"), d.path("a/b/g")))
		ok(t, d.Rename(d.path("a"), d.path("c")))
		d.want(t, "c/b/g", "new")
		is(t, d.Rename(d.path("c"), d.path("c/b/c")), syscall.EINVAL)
		is(t, d.Rename(d.path("c/b/g"), d.path("c/b")), fs.ErrExist)
		d.write(t, "f", "x")
		is(t, d.Rename(d.path("c"), d.path("f")), syscall.ENOTDIR)
		is(t, d.Rename(d.path("f"), d.path("none/f")), fs.ErrNotExist)
		d.want(t, "f", "x")
	})
}

func TestLock(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		l, err := d.Lock(d.path("lock"))
		ok(t, err)
		_, err = d.Lock(d.path("lock"))
		is(t, err, vfs.ErrLocked)
		other, err := d.Lock(d.path("other"))
		ok(t, err)
		ok(t, l.Close())
		again, err := d.Lock(d.path("lock"))
		ok(t, err)
		is(t, l.Close(), fs.ErrClosed)
		_, err = d.Lock(d.path("lock"))
		is(t, err, vfs.ErrLocked)
		ok(t, again.Close())
		ok(t, other.Close())
		_, err = d.Lock(d.path("none/lock"))
		is(t, err, fs.ErrNotExist)
	})
}

func TestWriteFileAtomic(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		d.write(t, "f.tmp", "left by a crash")
		for _, content := range []string{"first", "second", ""} {
			ok(t, vfs.WriteFileAtomic(d, d.path("f"), []byte(content)))
			d.want(t, "f", content)
		}
		_, err := d.Stat(d.path("f.tmp"))
		is(t, err, fs.ErrNotExist)
		is(t, vfs.WriteFileAtomic(d, d.path("none/f"), nil), fs.ErrNotExist)

		broken := errors.New("broken")
		is(t, vfs.ReplaceFile(d, d.path("f"), func(f vfs.File) error {
			_, err := f.Write([]byte("half"))
			ok(t, err)
			return broken
		}), broken)
		d.want(t, "f", "")
		_, err = d.Stat(d.path("f.tmp"))
		is(t, err, fs.ErrNotExist)
	})
}

func TestWriteFileAtomicKeepsPermissions(t *testing.T) {
	onAll(t, func(t *testing.T, d disk) {
		f, err := d.OpenFile(d.path("f"), os.O_RDWR|os.O_CREATE, 0o600)
		ok(t, err)
		ok(t, f.Close())
		ok(t, vfs.WriteFileAtomic(d, d.path("f"), []byte("x")))
		info, err := d.Stat(d.path("f"))
		ok(t, err)
		if info.Mode() != 0o600 {
			t.Fatal(info.Mode())
		}
	})
}
