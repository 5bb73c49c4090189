package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/covey-db/covey/internal/aof"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/vfs"
)

// This file examines the files of an append-only file that nobody has open, and mends them. The words of the report are those
// that scripts look for in what redis-check-aof prints.

// CheckOptions say what Check does.
type CheckOptions struct {
	Fix   bool      // cut the last file back to what is whole, after a question
	Until int64     // not 0: cut it back to what was done up to this second
	Keys  bool      // a line for every key of a base in the format of RDB
	In    io.Reader // where the answer to the question comes from
}

// IsSet says whether a file is a manifest, or a file of commands: anything but a plain RDB file.
func IsSet(fsys vfs.FS, path string) (bool, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, aof.HeadBytes)
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF {
		return false, err
	}
	return !aof.IsRDB(head), nil
}

// Check reads an append-only file to its end: a manifest with all its files, or a single file. The report goes to out; the
// error says why the files are not good, or could not be mended.
func Check(fsys vfs.FS, path string, out io.Writer, o CheckOptions) error {
	c := &checker{fs: fsys, out: out, o: o}
	manifest, err := isManifest(fsys, path)
	if err != nil {
		return err
	}
	if manifest {
		return c.set(path)
	}
	c.say("Start checking Old-Style AOF")
	return c.file("AOF", path, path, true)
}

// isManifest looks at the first line that is no comment.
func isManifest(fsys vfs.FS, path string) (bool, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return false, fmt.Errorf("Cannot open file %s: %s", path, reason(err))
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 && line[0] != '#' {
			return bytes.HasPrefix(line, []byte("file")), nil
		}
		if err != nil {
			return false, nil // there is no such line, or it is longer than one of a manifest
		}
	}
}

type checker struct {
	fs  vfs.FS
	out io.Writer
	o   CheckOptions
}

func (c *checker) say(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

func (c *checker) set(path string) error {
	c.say("Start checking Multi Part AOF")
	text, err := c.fs.ReadFile(path)
	if err != nil {
		return err
	}
	m, err := aof.ParseManifest(text)
	if err != nil {
		return err
	}
	files := m.Files()
	said := false
	for i, f := range files {
		where := aof.Path(filepath.Dir(path), f.Name)
		if f.Kind == aof.Base {
			format := "RESP"
			plain, err := IsSet(c.fs, where)
			if err != nil {
				return fmt.Errorf("Cannot open file %s: %s, aborting...", where, reason(err))
			}
			if !plain {
				format = "RDB"
			}
			c.say("Start to check BASE AOF (%s format).", format)
		} else if !said {
			said = true
			c.say("Start to check INCR files.")
		}
		kind := "INCR AOF"
		if f.Kind == aof.Base {
			kind = "BASE AOF"
		}
		if err := c.file(kind, f.Name, where, i == len(files)-1); err != nil {
			return err
		}
	}
	c.say("All AOF files and manifest are valid")
	return nil
}

// finding is what a file of commands turned out to be.
type finding struct {
	good    int64 // bytes that are whole: what follows is damaged, or a transaction without an end
	line    int64 // where the reading ended
	reason  string
	expired int64 // offset of the first command after CheckOptions.Until, -1 for none
}

// file checks one file; kind and name are for the report.
func (c *checker) file(kind, name, path string, last bool) error {
	flag := os.O_RDONLY
	if c.o.Fix || c.o.Until != 0 {
		flag = os.O_RDWR
	}
	f, err := c.fs.OpenFile(path, flag, 0)
	if err != nil {
		return fmt.Errorf("Cannot open file %s: %s, aborting...", path, reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		c.say("%s %s is empty", kind, name)
		return nil
	}
	in := bufio.NewReaderSize(f, readBytes)
	stream, offset := io.Reader(in), int64(0)
	if head, _ := in.Peek(aof.HeadBytes); aof.IsRDB(head) {
		sum, rest, err := rdb.CheckHead(in, c.out, rdb.CheckOptions{Keys: c.o.Keys})
		if err != nil {
			return errors.New("RDB preamble of AOF file is not sane, aborting.")
		}
		c.say("RDB preamble is OK, proceeding with AOF tail...")
		stream, offset = rest, sum.Bytes
	}
	found, err := c.scan(aof.NewScanner(stream, offset))
	if err != nil {
		return fmt.Errorf("Failed to read from AOF %s, aborting...: %w", name, err)
	}
	return c.judge(f, kind, name, info.Size(), last, found)
}

// scan reads commands to the end, or to what is damaged or too late. An error is one of reading.
func (c *checker) scan(s *aof.Scanner) (finding, error) {
	open := false // a transaction is
	found := finding{good: s.Offset(), expired: -1}
	for {
		rec, err := s.Next()
		found.line = s.Line()
		var damage *aof.Damage
		switch {
		case err == io.EOF:
			if open {
				found.reason = "Reached EOF before reading EXEC for MULTI"
			} else {
				found.good = s.Offset()
			}
			return found, nil
		case errors.As(err, &damage):
			if !open {
				found.good = damage.At
			}
			found.reason = damage.Error()
			return found, nil
		case err != nil:
			return found, err
		}
		if !open {
			found.good = rec.At
		}
		if rec.Args == nil {
			if at, ok := aof.Timestamp(rec.Note); ok && c.o.Until != 0 && at > c.o.Until {
				found.expired = rec.At
				return found, nil
			}
			continue
		}
		switch begins, ends := bytes.EqualFold(rec.Args[0], []byte("multi")), bytes.EqualFold(rec.Args[0], []byte("exec")); {
		case begins && open || ends && !open:
			found.reason = fmt.Sprintf("offset %d: Unexpected %s in AOF", rec.At, bytes.ToUpper(rec.Args[0]))
			return found, nil
		case begins:
			open = true
		case ends:
			open = false
		}
	}
}

// judge reports on a file, and mends it if that is wanted.
func (c *checker) judge(f vfs.File, kind, name string, size int64, last bool, found finding) error {
	if found.expired >= 0 {
		return c.cutAtTime(f, name, last, found.expired)
	}
	if found.reason != "" {
		c.say("%s", found.reason)
	}
	diff := size - found.good
	if diff == 0 && c.o.Until != 0 {
		c.say("Truncate nothing in AOF %s to timestamp %d", name, c.o.Until)
		return nil
	}
	c.say("AOF analyzed: filename=%s, size=%d, ok_up_to=%d, ok_up_to_line=%d, diff=%d", name, size, found.good, found.line, diff)
	switch {
	case diff == 0:
		c.say("%s %s is valid", kind, name)
		return nil
	case !c.o.Fix:
		return fmt.Errorf("AOF %s is not valid. Use the --fix option to try fixing it.", name)
	case !last:
		return fmt.Errorf("Failed to truncate AOF %s because it is not the last file", name)
	}
	fmt.Fprintf(c.out, "This will shrink the AOF %s from %d bytes, with %d bytes, to %d bytes\nContinue? [y/N]: ", name, size, diff, found.good)
	if answer, _ := bufio.NewReader(c.o.In).ReadString('\n'); answer == "" || answer[0] != 'y' && answer[0] != 'Y' {
		return errors.New("Aborting...")
	}
	if err := errors.Join(f.Truncate(found.good), f.Sync()); err != nil {
		return fmt.Errorf("Failed to truncate AOF %s: %w", name, err)
	}
	c.say("Successfully truncated AOF %s", name)
	return nil
}

// cutAtTime drops what was done after CheckOptions.Until.
func (c *checker) cutAtTime(f vfs.File, name string, last bool, at int64) error {
	switch {
	case at == 0:
		return fmt.Errorf("AOF %s has nothing before timestamp %d, aborting...", name, c.o.Until)
	case !last:
		return fmt.Errorf("Failed to truncate AOF %s to timestamp %d to offset %d because it is not the last file. "+
			"If you insist, delete the files behind it and their lines in the manifest, then check again.", name, c.o.Until, at)
	}
	if err := errors.Join(f.Truncate(at), f.Sync()); err != nil {
		return fmt.Errorf("Failed to truncate AOF %s to timestamp %d: %w", name, c.o.Until, err)
	}
	c.say("Successfully truncated AOF %s to timestamp %d", name, c.o.Until)
	return nil
}
