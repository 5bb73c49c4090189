// Package aof is the format of the append-only file: a manifest that lists the files of a set in the order in which they are
// read, their names, and the stream of commands in them. It opens no file. docs/formats/aof.md draws the layout.
package aof

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// Kind is the part of a file in a set.
type Kind byte

// The kinds, by the letter that the manifest has for them.
const (
	Base    Kind = 'b' // the data at some moment; at most one
	History Kind = 'h' // no longer needed, and to be removed
	Incr    Kind = 'i' // what happened after the base, in order
)

// File is a line of the manifest.
type File struct {
	Name string // without a directory
	Seq  int64
	Kind Kind
}

// Manifest lists the files of a set. The zero value is a set without files.
type Manifest struct {
	Base    *File  // nil: the data begins empty
	History []File // latest first
	Incr    []File // in the order in which they are read
	baseSeq int64  // highest number that a base had
	incrSeq int64
}

// lineMax is the length of a line with its end from which Redis refuses a manifest, bytes.
const lineMax = 1024

// What is wrong with a manifest; tools of users look for these words.
const (
	reasonEmpty     = "Found an empty AOF manifest"
	reasonFormat    = "Invalid AOF manifest file format"
	reasonLong      = "The AOF manifest file contains too long line"
	reasonPath      = "File can't be a path, just a filename"
	reasonTwoBases  = "Found duplicate base file information"
	reasonBackwards = "Found a non-monotonic sequence number"
	reasonKind      = "Unknown AOF file type"
)

// ManifestError says what is wrong with a manifest, and where.
type ManifestError struct {
	Line   int // from 1; 0: the manifest as a whole
	Text   string
	Reason string
}

// Error implements error.
func (e *ManifestError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("%s (line %d: %q)", e.Reason, e.Line, e.Text)
}

// ParseManifest reads a manifest. Its errors are *ManifestError.
func ParseManifest(text []byte) (*Manifest, error) {
	m := &Manifest{}
	if len(text) == 0 {
		return nil, &ManifestError{Reason: reasonEmpty}
	}
	for n := 1; len(text) > 0; n++ {
		end := bytes.IndexByte(text, '\n')
		line := text
		if end >= 0 {
			line = text[:end]
		}
		if len(line) >= lineMax {
			return nil, &ManifestError{n, string(line[:lineMax]), reasonLong}
		}
		text = text[min(len(line)+1, len(text)):]
		if len(line) > 0 && line[0] == '#' {
			continue
		}
		reason := reasonLong // so Redis calls a line without an end
		if end >= 0 {
			reason = m.add(line)
		}
		if reason != "" {
			return nil, &ManifestError{n, string(line), reason}
		}
	}
	return m, nil
}

// add reads one line; it returns what is wrong with it, or "".
func (m *Manifest) add(line []byte) string {
	line = bytes.Trim(line, " \t\r\n")
	words, ok := resp.SplitWords(bytes.Clone(line), nil) // it unquotes in place
	const wordsLeast = 6
	if len(line) == 0 || !ok || len(words) < wordsLeast || len(words)%2 != 0 {
		return reasonFormat
	}
	f := File{}
	for i := 0; i < len(words); i += 2 {
		value := words[i+1]
		switch strings.ToLower(string(words[i])) {
		case "file":
			f.Name = string(value)
			if !isName(f.Name) {
				return reasonPath
			}
		case "seq":
			f.Seq = leadingNumber(value)
		case "type":
			f.Kind = 0
			if len(value) > 0 {
				f.Kind = Kind(value[0])
			}
		}
	}
	if f.Name == "" || f.Seq == 0 || f.Kind == 0 {
		return reasonFormat
	}
	return m.place(f)
}

// place puts a file of a line where it belongs.
func (m *Manifest) place(f File) string {
	switch f.Kind {
	case Base:
		if m.Base != nil {
			return reasonTwoBases
		}
		m.Base, m.baseSeq = &f, f.Seq
	case History:
		m.History = append(m.History, f)
	case Incr:
		if f.Seq <= m.incrSeq {
			return reasonBackwards
		}
		m.Incr = append(m.Incr, f)
		m.incrSeq = f.Seq
	default:
		return reasonKind
	}
	return ""
}

func isName(s string) bool { return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, `/\`) }

// leadingNumber reads a number as atoll does: what follows its digits counts for nothing, and no digits are 0.
func leadingNumber(b []byte) int64 {
	end := 0
	if end < len(b) && b[end] == '-' {
		end++
	}
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	n, _ := num.ParseInt(b[:end])
	return n
}

// AppendText appends the manifest as its file has it.
func (m *Manifest) AppendText(dst []byte) []byte {
	if m.Base != nil {
		dst = m.Base.appendLine(dst)
	}
	for i := range m.History {
		dst = m.History[i].appendLine(dst)
	}
	for i := range m.Incr {
		dst = m.Incr[i].appendLine(dst)
	}
	return dst
}

func (f *File) appendLine(dst []byte) []byte {
	dst = append(dst, "file "...)
	if strings.ContainsFunc(f.Name, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\' }) {
		dst = config.AppendQuoted(dst, []byte(f.Name))
	} else {
		dst = append(dst, f.Name...)
	}
	dst = append(dst, " seq "...)
	dst = strconv.AppendInt(dst, f.Seq, 10)
	dst = append(dst, " type "...)
	return append(dst, byte(f.Kind), '\n')
}

// Clone copies a manifest, so that a change is seen by nobody before it is on disk.
func (m *Manifest) Clone() *Manifest {
	c := *m
	if m.Base != nil {
		base := *m.Base
		c.Base = &base
	}
	c.History, c.Incr = slices.Clone(m.History), slices.Clone(m.Incr)
	return &c
}

// Files are the files to read, in order; a set without files has none.
func (m *Manifest) Files() []File {
	var list []File
	if m.Base != nil {
		list = append(list, *m.Base)
	}
	return append(list, m.Incr...)
}

// Names makes the names of a set's files from the value of appendfilename.
type Names struct{ File string }

// Manifest is the name of the manifest.
func (n Names) Manifest() string { return n.File + ".manifest" }

// TempIncr is the name of the file that what happens is written to while the first base is made.
func (n Names) TempIncr() string { return "temp-" + n.File + ".incr" }

func (n Names) base(seq int64, rdb bool) string {
	if rdb {
		return n.File + "." + strconv.FormatInt(seq, 10) + ".base.rdb"
	}
	return n.File + "." + strconv.FormatInt(seq, 10) + ".base.aof"
}

// NewBase puts a new base in the place of the one there is, which becomes history; rdb says how it is written.
func (m *Manifest) NewBase(n Names, rdb bool) File {
	m.baseSeq++
	if m.Base != nil {
		m.retire(*m.Base)
	}
	m.Base = &File{n.base(m.baseSeq, rdb), m.baseSeq, Base}
	return *m.Base
}

// NewIncr adds an incremental file behind the others.
func (m *Manifest) NewIncr(n Names) File {
	m.incrSeq++
	m.Incr = append(m.Incr, File{n.File + "." + strconv.FormatInt(m.incrSeq, 10) + ".incr.aof", m.incrSeq, Incr})
	return m.Incr[len(m.Incr)-1]
}

// RetireIncr makes incremental files history, all but the last keep.
func (m *Manifest) RetireIncr(keep int) {
	n := max(0, len(m.Incr)-keep)
	for _, f := range m.Incr[:n] {
		m.retire(f)
	}
	m.Incr = m.Incr[n:]
}

func (m *Manifest) retire(f File) {
	f.Kind = History
	m.History = append([]File{f}, m.History...)
}

// Upgrade makes a set of the single file of a Redis before 7.0, which is to be moved into the directory of the set.
func Upgrade(n Names) *Manifest {
	return &Manifest{Base: &File{n.File, 1, Base}, baseSeq: 1}
}

// Path is where a file of a set lies.
func Path(dir, name string) string { return filepath.Join(dir, name) }
