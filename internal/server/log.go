package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// logLevels are the words of loglevel. Redis's "notice" is slog's info, its "warning" is slog's warn and above.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "verbose": slog.LevelDebug + 2, "notice": slog.LevelInfo, "warning": slog.LevelWarn, "nothing": slog.LevelError + 4}

// logFile is where log lines go. The file is opened anew for each line, as Redis does, so that it can be rotated.
type logFile struct {
	mu   sync.Mutex
	path string // "" for standard output
}

// TryLog tells whether a log file can be written to. It makes the file if there is none.
func TryLog(path string) error {
	out, err := openLog(path)
	if err != nil {
		return err
	}
	return out.Close()
}

func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
}

func (f *logFile) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" {
		return os.Stdout.Write(b)
	}
	out, err := openLog(f.path)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	return out.Write(b)
}

// lineHandler writes Redis's log form: "pid:role date time mark text". Tools and containers wait for its lines.
type lineHandler struct {
	out   io.Writer
	level *slog.LevelVar
	role  *atomic.Int32 // the letter behind the pid: M, S, or X before the role is known
	attrs []slog.Attr
}

func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

func (h *lineHandler) WithGroup(string) slog.Handler { return h }

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = append(append([]slog.Attr(nil), h.attrs...), attrs...)
	return &more
}

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	mark := "*"
	switch {
	case r.Level >= slog.LevelWarn:
		mark = "#"
	case r.Level < slog.LevelDebug+2:
		mark = "."
	case r.Level < slog.LevelInfo:
		mark = "-"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%c %s %s %s", os.Getpid(), rune(h.role.Load()), r.Time.Format("02 Jan 2006 15:04:05.000"), mark, oneLine(r.Message))
	write := func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%s", a.Key, quoteIfNeeded(a.Value.String()))
		return true
	}
	for _, a := range h.attrs {
		write(a)
	}
	r.Attrs(write)
	b.WriteByte('\n')
	_, err := io.WriteString(h.out, b.String())
	return err
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"=") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// newLogger makes the log of a node in the wanted format: plain (Redis's), json or logfmt.
func newLogger(out io.Writer, format string, level *slog.LevelVar, role *atomic.Int32) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			a.Value = slog.StringValue(a.Value.Time().UTC().Format(time.RFC3339Nano))
		}
		return a
	}}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(out, opts))
	case "logfmt":
		return slog.New(slog.NewTextHandler(out, opts))
	}
	return slog.New(&lineHandler{out: out, level: level, role: role})
}
