// Errors of a configuration.

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// Error is a line that cannot be used, or, with Line 0, values that do not go together.
type Error struct {
	File   string // absolute path, "" for standard input and the command line
	Line   int    // in the file, or in the text that Redis makes of file, standard input and command line
	Text   string // the line
	Reason string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("%s, line %d: '%s': %s", orWord(e.File, "command line"), e.Line, e.Text, e.Reason)
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// Fatal is what a server prints before it gives up, in the form of Redis, and which file it was.
func (e *Error) Fatal() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n*** FATAL CONFIG FILE ERROR (Redis %s) ***\n", RedisVersion)
	if e.Line > 0 {
		fmt.Fprintf(&b, "Reading the configuration file, at line %d\n>>> '%s'\n", e.Line, e.Text)
	}
	b.WriteString(e.Reason + "\n")
	if e.Line > 0 && e.File != "" {
		b.WriteString("In the file " + e.File + "\n")
	}
	return b.String()
}

// FileError is a configuration file that cannot be read.
type FileError struct {
	Path string // as it was given
	Err  error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("Fatal error, can't open config file '%s': %s", e.Path, osText(e.Err))
}

func (e *FileError) Unwrap() error { return e.Err }

// osText says what the operating system says, in its words and without the path that Go puts in front: "No such file or
// directory". Other errors say what they say.
func osText(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	switch number, isNumber := err.(syscall.Errno); {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	case isNumber:
		text := number.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return err.Error()
}

// ReplyError is what CONFIG SET answers; its text is the whole error reply.
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// RevertError is a CONFIG SET that failed, and whose old values could not all be put back in force.
type RevertError struct {
	Reply  error   // what is answered
	Errors []error // what belongs into the log
}

func (e *RevertError) Error() string { return e.Reply.Error() }

func (e *RevertError) Unwrap() []error { return append([]error{e.Reply}, e.Errors...) }
