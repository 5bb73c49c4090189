package replication

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
)

// This file is the connection to a primary as it is read and written: lines, questions, the greeting.

// primaryConn reads lines and bytes from the primary, each within repl-timeout.
type primaryConn struct {
	f       *follower
	conn    net.Conn
	timeout time.Duration
	buf     []byte // read, not used
	spare   engine.Spare
	mail    *linkMail       // for the session that applies the stream; nil before
	sess    *engine.Session // that session
}

// release gives the buffer back.
func (p *primaryConn) release() {
	p.spare.Put(p.buf)
	p.spare.Drop()
	p.buf = nil
}

// readBytes is how much room a read gets at least.
const readBytes = 64 << 10

// roomyMin is from how much room on a buffer is given back when nothing is in it.
const roomyMin = 1 << 20

// more reads once, behind what is there.
func (p *primaryConn) more() error {
	if len(p.buf) == 0 && cap(p.buf) >= roomyMin {
		p.release()
	}
	if cap(p.buf)-len(p.buf) < 4096 {
		want := 2*len(p.buf) + readBytes
		if p.sess != nil {
			want = len(p.buf) + p.sess.MoreRoom(len(p.buf), readBytes)
		}
		p.buf = p.spare.Grow(p.buf, want, want)
	}
	if !p.arm() {
		return nil
	}
	n, err := p.conn.Read(p.buf[len(p.buf):cap(p.buf)])
	p.f.began(time.Time{})
	p.buf = p.buf[:len(p.buf)+n]
	if n > 0 {
		p.f.lastIO.Store(time.Now().UnixNano())
		return nil
	}
	if p.mail != nil && p.mail.waits() {
		return nil
	}
	return err
}

// lineMax bounds a reply line of the primary.
const lineMax = 1024

// line reads one line without its end; empty lines are signs of life.
func (p *primaryConn) line() (string, error) {
	for {
		if i := strings.IndexByte(string(p.buf), '\n'); i >= 0 {
			line := strings.TrimRight(string(p.buf[:i]), "\r")
			p.buf = p.buf[:copy(p.buf, p.buf[i+1:])]
			if line == "" {
				continue
			}
			return line, nil
		}
		if len(p.buf) > lineMax {
			return "", errors.New("the primary sent a line without an end")
		}
		if err := p.more(); err != nil {
			return "", err
		}
	}
}

// ask sends a command and reads its answer line.
func (p *primaryConn) ask(words ...string) (string, error) {
	if err := p.send(words...); err != nil {
		return "", err
	}
	return p.line()
}

func (p *primaryConn) send(words ...string) error {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	p.f.writeMu.Lock()
	defer p.f.writeMu.Unlock()
	_ = p.conn.SetWriteDeadline(time.Now().Add(p.timeout))
	_, err := p.conn.Write(resp.AppendCommand(nil, args...))
	return err
}

// greet introduces this node.
func (p *primaryConn) greet(s Settings) error {
	answer, err := p.ask("PING")
	if err != nil {
		return err
	}
	if strings.HasPrefix(answer, "-") && !strings.HasPrefix(answer, "-NOAUTH") && !strings.HasPrefix(answer, "-NOPERM") {
		return fmt.Errorf("error reply to PING from master: %s", answer)
	}
	if s.Password != "" {
		words := []string{"AUTH", s.Password}
		if s.User != "" {
			words = []string{"AUTH", s.User, s.Password}
		}
		if answer, err = p.ask(words...); err != nil {
			return err
		}
		if strings.HasPrefix(answer, "-") {
			return fmt.Errorf("Unable to AUTH to MASTER: %s", answer)
		}
	}
	steps := [][]string{{"REPLCONF", "listening-port", strconv.Itoa(s.ListenPort)}}
	if s.AnnounceIP != "" {
		steps = append(steps, []string{"REPLCONF", "ip-address", s.AnnounceIP})
	}
	steps = append(steps, []string{"REPLCONF", "capa", "eof", "capa", "psync2"})
	for _, words := range steps {
		if _, err := p.ask(words...); err != nil { // an old primary may refuse: that is no reason to stop
			return err
		}
	}
	return nil
}

// arm lets the next read wait, until dropSilentPrimary ends it; false when work was posted, which comes first.
func (p *primaryConn) arm() bool {
	if p.mail != nil {
		p.mail.mu.Lock()
		defer p.mail.mu.Unlock()
		if len(p.mail.mu.work) > 0 {
			return false
		}
	}
	p.f.began(time.Now())
	return true
}
