package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/covey-db/covey/internal/journal"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/vfs"
)

// checkCommand is "covey check": it reads an RDB file, or the files of an append-only file, to the end and names the place of
// any damage.
type checkCommand struct {
	File  string `arg:"" help:"An RDB file, the manifest of an append-only file, or a file of commands."`
	Keys  bool   `help:"A line for every key of an RDB file."`
	Fix   bool   `help:"Cut the last file of commands back to what is whole, after a question."`
	Until int64  `name:"truncate-to-timestamp" placeholder:"SECONDS" help:"Cut the last file of commands back to what was done up to this time (it needs aof-timestamp-enabled)."`
}

func (c *checkCommand) Run(in io.Reader, out io.Writer) error {
	if info, err := os.Stat(c.File); err != nil {
		return err
	} else if info.IsDir() {
		return fmt.Errorf("%s is a folder; name the RDB file, or the manifest of the append-only file, in it", c.File)
	}
	commands, err := journal.IsSet(vfs.OS{}, c.File)
	if err != nil {
		return err
	}
	if !commands && !c.Fix && c.Until == 0 {
		return checkRDB(c.File, out, c.Keys)
	}
	return journal.Check(vfs.OS{}, c.File, out, journal.CheckOptions{Fix: c.Fix, Until: c.Until, Keys: c.Keys, In: in})
}

func checkRDB(path string, out io.Writer, keys bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = rdb.Check(bufio.NewReaderSize(f, 1<<20), out, rdb.CheckOptions{Keys: keys})
	return err
}

// runCheckAOF is redis-check-aof.
func runCheckAOF(args []string, in io.Reader, out io.Writer) int {
	o := journal.CheckOptions{In: in}
	switch {
	case len(args) == 1:
	case len(args) == 2 && args[0] == "--fix":
		o.Fix = true
	case len(args) == 3 && args[0] == "--truncate-to-timestamp":
		n, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			fmt.Fprintln(out, "Invalid timestamp, aborting...")
			return 1
		}
		o.Until = n
	default:
		fmt.Fprintln(out, "Usage: redis-check-aof [--fix|--truncate-to-timestamp $timestamp] <file.manifest|file.aof>")
		return 1
	}
	if err := journal.Check(vfs.OS{}, args[len(args)-1], out, o); err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	return 0
}
