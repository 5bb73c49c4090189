package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/vfs"
)

func memDisk() (*vfs.Mem, disk) {
	m := vfs.NewMem()
	return m, disk{m, "/"}
}

func TestCrashDropsWhatIsNotSafe(t *testing.T) {
	m, d := memDisk()
	f, err := d.Create("/f")
	ok(t, err)
	_, err = f.Write([]byte("safe"))
	ok(t, err)
	ok(t, f.Sync())
	ok(t, d.SyncDir("/"))
	_, err = f.Write([]byte(" not safe"))
	ok(t, err)
	d.write(t, "g", "content without a name")
	lock, err := d.Lock("/lock")
	ok(t, err)
	m.Crash()
	d.want(t, "f", "safe")
	_, err = d.Stat("/g")
	is(t, err, fs.ErrNotExist)
	_, err = f.Write([]byte("x"))
	is(t, err, fs.ErrClosed)
	is(t, lock.Close(), fs.ErrClosed)
	lock, err = d.Lock("/lock")
	ok(t, err)
	ok(t, lock.Close())
}

func TestCrashAndNames(t *testing.T) {
	m, d := memDisk()
	ok(t, d.MkdirAll("/a", 0o755))
	ok(t, d.SyncDir("/"))
	d.write(t, "a/f", "no sync")
	ok(t, d.SyncDir("/a"))
	m.Crash()
	d.want(t, "a/f", "") // the name was safe, the content was not
	ok(t, d.Rename("/a/f", "/a/g"))
	m.Crash()
	d.want(t, "a/f", "")
	ok(t, d.Remove("/a/f"))
	m.Crash()
	d.want(t, "a/f", "")
	ok(t, d.Remove("/a/f"))
	ok(t, d.SyncDir("/a"))
	m.Crash()
	_, err := d.Stat("/a/f")
	is(t, err, fs.ErrNotExist)
	ok(t, d.MkdirAll("/a/b/c", 0o755))
	m.Crash()
	_, err = d.Stat("/a/b")
	is(t, err, fs.ErrNotExist)
	ok(t, vfs.MakeDirSafe(d, "/a/b/c", 0o755))
	m.Crash()
	_, err = d.Stat("/a/b/c")
	ok(t, err)
}

func TestCrashAfterTruncate(t *testing.T) {
	m, d := memDisk()
	ok(t, vfs.WriteFileAtomic(d, "/f", []byte("0123456789")))
	f, err := d.OpenFile("/f", os.O_RDWR, 0)
	ok(t, err)
	ok(t, f.Truncate(4))
	_, err = f.WriteAt([]byte("x"), 7)
	ok(t, err)
	m.Crash()
	d.want(t, "f", "0123456789")
	f, err = d.OpenFile("/f", os.O_RDWR, 0)
	ok(t, err)
	ok(t, f.Truncate(4))
	ok(t, f.Sync())
	_, err = f.WriteAt([]byte("x"), 5)
	ok(t, err)
	m.Crash()
	d.want(t, "f", "0123")
	d.write(t, "f", "new")
	m.Crash()
	d.want(t, "f", "0123")
}

// A log that is synced after each record has all records after any power failure, and behind them a part of the next at most.
func TestTornLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, d := memDisk()
		ok(t, vfs.WriteFileAtomic(d, "/log", nil))
		f, err := d.OpenFile("/log", os.O_RDWR|os.O_APPEND, 0)
		ok(t, err)
		safe := ""
		for i := range rapid.IntRange(0, 5).Draw(t, "records") {
			record := strings.Repeat(fmt.Sprint(i), rapid.IntRange(1, 1500).Draw(t, "size"))
			_, err := f.Write([]byte(record))
			ok(t, err)
			ok(t, f.SyncData())
			safe += record
		}
		tail := strings.Repeat("x", rapid.IntRange(0, 1500).Draw(t, "tail"))
		_, err = f.Write([]byte(tail))
		ok(t, err)
		m.CrashTorn(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		left, err := d.ReadFile("/log")
		ok(t, err)
		rest, isPrefix := strings.CutPrefix(string(left), safe)
		if !isPrefix || len(rest) > len(tail) || strings.Trim(rest, "x\x00") != "" {
			t.Fatalf("safe %d bytes, then %d, left %d", len(safe), len(tail), len(left))
		}
	})
}

// However WriteFileAtomic is cut short, the old or the new content is there, and the new one if it said so.
func TestWriteFileAtomicSurvivesPowerFailures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := vfs.NewMem()
		size := rapid.IntRange(0, 3000)
		before := strings.Repeat("a", size.Draw(t, "before"))
		after := strings.Repeat("b", size.Draw(t, "after"))
		ok(t, vfs.WriteFileAtomic(m, "/f", []byte(before)))
		faulty := vfs.NewFaulty(m)
		if calls := rapid.IntRange(0, 12).Draw(t, "calls before the power fails"); calls < 12 {
			faulty.Fail(vfs.Calls{Skip: calls}, errors.New("no power"))
		}
		err := vfs.WriteFileAtomic(faulty, "/f", []byte(after))
		if rapid.Bool().Draw(t, "torn") {
			m.CrashTorn(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		} else {
			m.Crash()
		}
		left, readErr := m.ReadFile("/f")
		ok(t, readErr)
		if got := string(left); got != after && (err == nil || got != before) {
			t.Fatalf("%d bytes %.10q after error %v", len(got), got, err)
		}
		ok(t, vfs.WriteFileAtomic(m, "/f", []byte("usable")))
	})
}

// step is one call of the model test.
type step struct {
	what string
	run  func(disk) (string, error)
}

func drawStep(t *rapid.T) step {
	name := rapid.SampledFrom([]string{"a", "b", "a/x", "b/x", "a/x/y", "c"})
	from, to := name.Draw(t, "from"), name.Draw(t, "to")
	content := strings.Repeat(rapid.SampledFrom([]string{"p", "q"}).Draw(t, "byte"), rapid.IntRange(0, 5).Draw(t, "length"))
	at := rapid.Int64Range(0, 8).Draw(t, "at")
	steps := []step{
		{"write " + from, func(d disk) (string, error) { return writeAt(d, from, os.O_RDWR|os.O_CREATE, content, at) }},
		{"append " + from, func(d disk) (string, error) { return writeAt(d, from, os.O_RDWR|os.O_APPEND, content, -1) }},
		{"rewrite " + from, func(d disk) (string, error) { return writeAt(d, from, os.O_RDWR|os.O_CREATE|os.O_TRUNC, content, at) }},
		{"new " + from, func(d disk) (string, error) { return writeAt(d, from, os.O_RDWR|os.O_CREATE|os.O_EXCL, content, at) }},
		{"rename " + from + " " + to, func(d disk) (string, error) { return "", d.Rename(d.path(from), d.path(to)) }},
		{"remove " + from, func(d disk) (string, error) { return "", d.Remove(d.path(from)) }},
		{"mkdir " + from, func(d disk) (string, error) { return "", d.MkdirAll(d.path(from), 0o755) }},
		{"list " + from, func(d disk) (string, error) { return list(d, from) }},
		{"replace " + from, func(d disk) (string, error) { return "", vfs.WriteFileAtomic(d, d.path(from), []byte(content)) }},
		{"sync " + from, func(d disk) (string, error) { return "", d.SyncDir(d.path(from)) }},
	}
	return rapid.SampledFrom(steps).Draw(t, "step")
}

func (s step) String() string { return s.what }

func writeAt(d disk, name string, flag int, content string, at int64) (string, error) {
	f, err := d.OpenFile(d.path(name), flag, 0o644)
	if err != nil {
		return "", err
	}
	if at >= 0 {
		_, err = f.WriteAt([]byte(content), at)
	} else {
		_, err = f.Write([]byte(content))
	}
	return "", errors.Join(err, f.Close())
}

func list(d disk, name string) (string, error) {
	entries, err := d.ReadDir(d.path(name))
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %v ", e.Name(), e.IsDir())
	}
	return b.String(), err
}

// tree shows all files below a directory.
func tree(t *rapid.T, d disk, name string) string {
	entries, err := d.ReadDir(d.path(name))
	ok(t, err)
	text := ""
	for _, e := range entries {
		path := name + "/" + e.Name()
		if e.IsDir() {
			text += path + "/\n" + tree(t, d, path)
			continue
		}
		content, err := d.ReadFile(d.path(path))
		ok(t, err)
		text += fmt.Sprintf("%s %q\n", path, content)
	}
	return text
}

// kindOf makes errors of both file systems comparable.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	var pathError *fs.PathError
	var linkError *os.LinkError
	switch {
	case errors.As(err, &pathError):
		return pathError.Err.Error()
	case errors.As(err, &linkError):
		return linkError.Err.Error()
	}
	return err.Error()
}

// Files in memory do what those of the machine do.
func TestMemIsLikeOS(t *testing.T) {
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		machine := disk{vfs.OS{}, fmt.Sprintf("%s/%d", base, runs)}
		ok(t, os.Mkdir(machine.root, 0o755))
		_, mem := memDisk()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			s := drawStep(t)
			want, wantErr := s.run(machine)
			got, err := s.run(mem)
			if got != want || kindOf(err) != kindOf(wantErr) {
				t.Fatalf("%s: %q %v, there %q %v", s, got, err, want, wantErr)
			}
		}
		if got, want := tree(t, mem, ""), tree(t, machine, ""); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}
