package server

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"syscall"

	"github.com/covey-db/covey/internal/config"
)

// This file keeps clients from taking all files that the process may open: the others are for listeners, event loops, data files
// and nodes.conf, without which a node of a cluster ends.

const (
	// reservedFiles are kept from clients, as many as in Redis.
	reservedFiles = 32
	// reservedClusterFiles are kept besides in a cluster: two links to each node, of some sixty.
	reservedClusterFiles = 128
)

var errFewFiles = errors.New("The limit of open files (ulimit -n) leaves none for clients: raise it by some hundreds")

// clientsMax is how many clients there may be by the limit of open files, which the Go runtime has raised as far as it may.
func (s *Server) clientsMax() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt64
	}
	most := int64(min(limit.Cur, math.MaxInt64)) - reservedFiles
	if s.engine.ClusterOn {
		most -= reservedClusterFiles
	}
	return most
}

// fitMaxClients lowers maxclients at the start to what the limit of open files allows.
func (s *Server) fitMaxClients() error {
	wanted, most := s.store.Int("maxclients"), s.clientsMax()
	if wanted <= most {
		return nil
	}
	if most < 1 {
		return errFewFiles
	}
	s.log.Warn(fmt.Sprintf("maxclients is lowered from %d to %d because of the limit of open files; raise it with ulimit -n", wanted, most))
	return s.store.Override("maxclients", strconv.FormatInt(most, 10))
}

func (s *Server) putMaxClients(c config.Snapshot) error {
	n, most := c.Int("maxclients"), s.clientsMax()
	if n > most {
		return fmt.Errorf("The operating system is not able to handle the specified number of clients, try with %d", most)
	}
	s.engine.Settings.MaxClients.Store(n)
	return nil
}
