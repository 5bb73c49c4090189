package replication

import "github.com/covey-db/covey/internal/vfs"

// This file holds the files of synchronisations, which nobody needs once the synchronisation has ended.

// What the names of the files begin with.
const (
	receivedBefore = "temp-repl-"
	sentBefore     = "temp-sync-"
)

func tempAfter(s Settings) string { return "-" + s.File }

func (m *Manager) tempFile(before string, s Settings) (vfs.File, error) {
	return vfs.CreateTemp(m.opts.FS, s.Dir, before, tempAfter(s))
}

func (m *Manager) removeTemp(f vfs.File) {
	_ = f.Close() // its content is of no use any more
	if err := m.opts.FS.Remove(f.Name()); err != nil {
		m.log.Warn("Cannot remove the file of a synchronisation", "path", f.Name(), "reason", err)
	}
}

// Sweep removes what synchronisations left that did not come to their end because the process died. It is called before the
// first one.
func (m *Manager) Sweep() {
	s := m.opts.Settings()
	for _, before := range []string{receivedBefore, sentBefore} {
		removed, err := vfs.RemoveTemp(m.opts.FS, s.Dir, before, tempAfter(s))
		for _, name := range removed {
			m.log.Info("Removed the file of a synchronisation that was not finished", "name", name)
		}
		if err != nil {
			m.log.Warn("Cannot remove the files of synchronisations that were not finished", "reason", err)
		}
	}
}
