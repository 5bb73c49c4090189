package engine

// This file holds the refusal of writes that could not be made safe.

const (
	errFileWrite  = "MISCONF Errors writing to the AOF file: "
	errFileScript = "MISCONF Redis is configured to persist data to AOF, but it's currently unable to persist to disk. Writable scripts are blocked. Use 'no-writes' flag for read only scripts. AOF error: "
)

// diskTrouble is the refusal of writes because the disk does not take them, "" when it does.
func (e *Engine) diskTrouble() string {
	if e.Settings.WritesRefused.Load() {
		return ErrDiskWrite
	}
	if reason := e.Settings.FileError.Load(); reason != nil {
		return errFileWrite + *reason
	}
	return ""
}
