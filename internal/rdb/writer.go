package rdb

import (
	"io"

	"github.com/covey-db/covey/internal/checksum"
)

// Writer passes the pieces of a file on, counts and sums them, and closes the file. It belongs to one goroutine.
type Writer struct {
	w        io.Writer
	sum      uint64
	size     int64
	unsummed bool
}

// NewWriter returns a Writer to w. Pieces should be big (tens of kilobytes): nothing is gathered here. unsummed leaves the
// checksum out (rdbchecksum no).
func NewWriter(w io.Writer, unsummed bool) *Writer {
	return &Writer{w: w, unsummed: unsummed}
}

// Write passes a piece on.
func (w *Writer) Write(piece []byte) (int, error) {
	if !w.unsummed {
		w.sum = checksum.CRC64(w.sum, piece)
	}
	n, err := w.w.Write(piece)
	w.size += int64(n)
	return n, err
}

// Finish writes the end of the file.
func (w *Writer) Finish() error {
	end := AppendEOFUnsummed(nil)
	if !w.unsummed {
		end = AppendEOF(nil, w.sum)
	}
	n, err := w.w.Write(end)
	w.size += int64(n)
	return err
}

// Size is the number of bytes written.
func (w *Writer) Size() int64 { return w.size }
