package main

import (
	"bufio"
	"io"
	"os"

	"github.com/covey-db/covey/internal/rdb"
)

// checkCommand is "covey check": it reads an RDB file to its end and names the place of any damage.
type checkCommand struct {
	File string `arg:"" help:"The RDB file." type:"existingfile"`
	Keys bool   `help:"A line for every key."`
}

func (c *checkCommand) Run(out io.Writer) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = rdb.Check(bufio.NewReaderSize(f, 1<<20), out, rdb.CheckOptions{Keys: c.Keys})
	return err
}
