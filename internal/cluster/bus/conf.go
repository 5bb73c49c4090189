package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/covey-db/covey/internal/cluster/wire"
)

// confFile is nodes.conf: read once, replaced as a whole ever after, and locked so that no two processes share it.
type confFile struct {
	path string
	lock *os.File
}

// load reads the file; nil when there is none or it is empty.
func (c *confFile) load() (*wire.Conf, error) {
	if err := c.takeLock(); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("Loading the cluster node config from %s: %w", c.path, err)
	}
	conf, err := wire.ParseConf(text, false)
	if err != nil {
		return nil, fmt.Errorf("Unrecoverable error: corrupted cluster config file %s: %w", c.path, err)
	}
	return conf, nil
}

// takeLock locks a file beside nodes.conf: nodes.conf itself is a new file after every write.
func (c *confFile) takeLock() error {
	f, err := os.OpenFile(c.path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("Can't open %s in order to acquire a lock: %w", c.path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return fmt.Errorf("Sorry, the cluster configuration file %s is already used by a different Redis Cluster node. "+
			"Please make sure that different nodes use different cluster configuration files", c.path)
	}
	c.lock = f
	return nil
}

func (c *confFile) unlock() {
	if c.lock != nil {
		c.lock.Close()
		c.lock = nil
	}
}

// write replaces the file: a temporary one first, then the name. sync makes both survive a loss of power.
func (c *confFile) write(text []byte, sync bool) error {
	temp := fmt.Sprintf("%s.tmp-%d", c.path, os.Getpid())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(temp)
		return err
	}
	if err := os.Rename(temp, c.path); err != nil {
		return err
	}
	if !sync {
		return nil
	}
	dir, err := os.Open(filepath.Dir(c.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
