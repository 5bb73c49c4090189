package manager

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/vfs"
)

// This file gives the nodes of a local cluster their configuration files.

// conf is the path of the node's configuration file.
func (n *localNode) conf() string { return filepath.Join(n.dir, "covey.conf") }

// hasConf says whether the node was there in an earlier run.
func (n *localNode) hasConf() bool {
	_, err := os.Stat(n.conf())
	return err == nil
}

// writeConf writes a new node's configuration file. One that is there is its user's; but if the folder was moved or copied since,
// the paths in it follow, or the node would go on with the data at the old place.
func (l *Local) writeConf(n *localNode) error {
	text, err := os.ReadFile(n.conf())
	if errors.Is(err, os.ErrNotExist) {
		return os.WriteFile(n.conf(), []byte(l.settings(n)), 0o644)
	}
	if err != nil {
		return err
	}
	moved := movedPaths(string(text), n.dir)
	if moved == string(text) {
		return nil
	}
	return vfs.WriteFileAtomic(vfs.OS{}, n.conf(), []byte(moved))
}

// dirLine is the line with a node's own folder.
var dirLine = regexp.MustCompile(`(?m)^dir (".*")$`)

// movedPaths gives the configuration of a node whose folder lies at dir now the new path wherever it has the old one. A dir that
// its user has given another name than that of the folder is left alone.
func movedPaths(conf, dir string) string {
	line := dirLine.FindStringSubmatch(conf)
	if line == nil {
		return conf
	}
	old, err := strconv.Unquote(line[1])
	if err != nil || filepath.Base(old) != filepath.Base(dir) {
		return conf
	}
	inside := func(path string) string { return strings.TrimSuffix(strconv.Quote(path), `"`) }
	conf = strings.ReplaceAll(conf, line[1], strconv.Quote(dir))
	return strings.ReplaceAll(conf, inside(old)+"/", inside(dir)+"/")
}

func (l *Local) settings(n *localNode) string {
	return fmt.Sprintf(`# A node of a local cluster. Change it as you like: it is written once, but its paths follow the folder when that is moved.
bind 127.0.0.1
port %d
dir %q
logfile %q
cluster-enabled yes
cluster-config-file nodes.conf
cluster-node-timeout %d
cluster-announce-ip 127.0.0.1
cluster-require-full-coverage no
repl-diskless-sync-delay 0
save 60 1
`, n.port, n.dir, filepath.Join(n.dir, "covey.log"), l.opts.NodeTimeout.Milliseconds())
}
