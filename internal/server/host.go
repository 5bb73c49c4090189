package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/covey-db/covey/internal/config"
)

// This file talks to what runs the process: the kernel's out-of-memory killer and service managers.

// oomFile is where Linux keeps how readily it ends this process when memory is short.
const oomFile = "/proc/self/oom_score_adj"

const oomMax = 1000 // the kernel takes -1000 to 1000

// oomScore is the part of a node that owns oomFile. The zero value has not touched it.
type oomScore struct {
	mu     sync.Mutex // guards what follows
	base   int64      // what was there at the start
	active bool
}

// set puts oom-score-adj in force; index is 0 on a primary and 1 on a replica.
func (o *oomScore) set(mode string, scores [3]int64, index int) error {
	if mode == "no" && !o.active {
		return nil
	}
	if !o.active {
		text, err := os.ReadFile(oomFile)
		if err != nil {
			return err
		}
		if o.base, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return err
		}
	}
	score := scores[index]
	switch mode {
	case "no":
		score = o.base
	case "yes": // relative
		score += o.base
	}
	score = min(max(score, -oomMax), oomMax)
	if err := os.WriteFile(oomFile, strconv.AppendInt(nil, score, 10), 0o644); err != nil {
		return err
	}
	o.active = mode != "no"
	return nil
}

var errOOMScore = errors.New("Failed to set current oom_score_adj. Check server logs.")

// putOOMScore sets the score for the role of now.
func (s *Server) putOOMScore(c config.Snapshot) error {
	index := 0
	if s.engine.Role.IsReplica() {
		index = 1
	}
	s.oom.mu.Lock()
	defer s.oom.mu.Unlock()
	if err := s.oom.set(c.String("oom-score-adj"), c.Value("oom-score-adj-values").Scores(), index); err != nil {
		s.log.Warn("Unable to write oom_score_adj", "reason", err)
		return errOOMScore
	}
	return nil
}

// supervisors are what may run the server.
type supervisor int

const (
	unsupervised supervisor = iota
	upstart
	systemd
)

// String is the supervisor's name in INFO, empty for none.
func (s supervisor) String() string { return [...]string{upstart: "upstart", systemd: "systemd"}[s] }

// supervisorOf is who runs the server according to supervised and the environment.
func supervisorOf(mode string) supervisor {
	job, socket := os.Getenv("UPSTART_JOB") != "", os.Getenv("NOTIFY_SOCKET") != ""
	switch {
	case mode == "systemd" && socket, mode == "auto" && socket && !job:
		return systemd
	case mode == "upstart" && job, mode == "auto" && job:
		return upstart
	}
	return unsupervised
}

// Supervised says whether a service manager runs the server, with the value of supervised: then it must not go into the
// background by itself.
func Supervised(mode string) bool { return supervisorOf(mode) != unsupervised }

// notifyReady tells the supervisor that clients are served.
func (s *Server) notifyReady() {
	switch supervisorOf(s.store.String("supervised")) {
	case systemd:
		s.notify("STATUS=Ready to accept connections\nREADY=1\n")
	case upstart:
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil { // upstart lets the process go on
			s.log.Warn("Cannot tell upstart", "reason", err)
		}
	}
}

// notifyWithin bounds one message to systemd.
const notifyWithin = time.Second

// notify sends a message to systemd.
func (s *Server) notify(text string) {
	if err := sendNotify(os.Getenv("NOTIFY_SOCKET"), text); err != nil {
		s.log.Warn("Cannot tell systemd", "reason", err)
	}
}

// sendNotify sends a datagram to a Unix socket; a leading "@" is the abstract name space.
func sendNotify(socket, text string) error {
	if !strings.HasPrefix(socket, "/") && !strings.HasPrefix(socket, "@") {
		return fmt.Errorf("NOTIFY_SOCKET is no socket: %q", socket)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(notifyWithin)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(text))
	return err
}

// checkDir says why the server cannot work in a directory.
func (s *Server) checkDir(dir string) error {
	info, err := s.fs.Stat(dir + "/.") // this needs the right to enter it
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return err
}
