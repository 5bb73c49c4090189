package replication

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// This file reads the snapshot of a full synchronisation from the link. It comes as a length and so many bytes, or as a mark
// and everything before the mark comes again.

const markBytes = 40

// payload is the snapshot that comes over a link. As an io.Reader it gives the bytes behind the head, the second mark
// included.
type payload struct {
	p    *primaryConn
	mark []byte // nil where the length is known
	left int64  // bytes to come, where it is known
}

// payload reads the head.
func (p *primaryConn) payload() (*payload, error) {
	head, err := p.line()
	if err != nil {
		return nil, err
	}
	if mark, ok := strings.CutPrefix(head, "$EOF:"); ok {
		if len(mark) != markBytes {
			return nil, fmt.Errorf("bad end mark %q", mark)
		}
		p.f.syncSize.Store(0)
		return &payload{p: p, mark: []byte(mark)}, nil
	}
	size, err := strconv.ParseInt(strings.TrimPrefix(head, "$"), 10, 64)
	if err != nil || !strings.HasPrefix(head, "$") || size < 0 {
		return nil, fmt.Errorf("bad protocol from master: %q", head)
	}
	p.f.syncSize.Store(size)
	return &payload{p: p, left: size}, nil
}

// Read implements io.Reader. Where the length is known, nothing behind the snapshot is taken; where it is not, the primary
// sends nothing behind it before it has heard from this node.
func (l *payload) Read(b []byte) (int, error) {
	if l.mark == nil {
		if l.left == 0 {
			return 0, io.EOF
		}
		b = b[:min(int64(len(b)), l.left)]
	}
	for len(l.p.buf) == 0 {
		if err := l.p.more(); err == io.EOF {
			return 0, io.ErrUnexpectedEOF // what came is no whole snapshot
		} else if err != nil {
			return 0, err
		}
	}
	n := copy(b, l.p.buf)
	l.p.drop(n)
	l.left -= int64(n)
	return n, nil
}

// drop forgets the first n bytes that were read.
func (p *primaryConn) drop(n int) {
	p.f.syncRead.Add(int64(n))
	p.buf = p.buf[:copy(p.buf, p.buf[n:])]
}

// copyTo copies the snapshot to w.
func (l *payload) copyTo(w io.Writer) error {
	if l.mark == nil {
		_, err := io.Copy(w, l)
		return err
	}
	p := l.p
	for {
		if n := len(p.buf); n >= markBytes && bytes.Equal(p.buf[n-markBytes:], l.mark) {
			_, err := w.Write(p.buf[:n-markBytes])
			p.drop(n)
			return err
		}
		if n := len(p.buf) - markBytes; n > 0 { // the last bytes may be the start of the mark
			if _, err := w.Write(p.buf[:n]); err != nil {
				return err
			}
			p.drop(n)
		}
		if err := p.more(); err != nil {
			return err
		}
	}
}

// checkEnd reads what follows a snapshot that was read to its end.
func (l *payload) checkEnd(rest io.Reader) error {
	if l.mark == nil {
		if n, err := io.Copy(io.Discard, rest); n > 0 || err != nil {
			return errors.Join(fmt.Errorf("%d bytes follow the snapshot", n), err)
		}
		return nil
	}
	var end [markBytes]byte
	if _, err := io.ReadFull(rest, end[:]); err != nil {
		return err
	}
	if !bytes.Equal(end[:], l.mark) {
		return errors.New("the mark at the end of the snapshot is broken")
	}
	return nil
}
