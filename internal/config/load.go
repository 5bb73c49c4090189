// Reading the configuration at start: the file, standard input and the command line, in this order, the last word counts.

package config

import (
	"errors"
	"path/filepath"
	"strings"
)

const (
	includeDepthMax   = 16 // files
	includeFilesMax   = 10_000
	busPortOffset     = 10000
	clusterDatabases  = 1
	trimmedFromALine  = " \t\r\n"
	patternCharacters = "*?["
)

// Input is where a configuration comes from.
type Input struct {
	// Args is the command line as redis-server takes it, behind the name of the program: [file] [-] [--name value ...].
	Args []string
	// Stdin reads standard input to its end. It is called if the arguments ask for it by "-".
	Stdin func() ([]byte, error)
	// WorkDir is the absolute path that the file, includes and dir are relative to.
	WorkDir string
	// ReadFile reads a file by its absolute path.
	ReadFile func(path string) ([]byte, error)
	// Glob lists the files that match an absolute pattern, sorted. None is no error.
	Glob func(pattern string) ([]string, error)
	// EnterDir tells whether the server may work in a directory. Its error is what is said about the line with dir. It may be nil.
	EnterDir func(path string) error
	// TryLog tells whether lines can be added to the log file, whose path may be relative to dir. It may be nil.
	TryLog func(path string) error
}

// Line is one line of a configuration whose meaning is known elsewhere.
type Line struct {
	File   string   // "" for standard input and the command line
	Number int      // counted as Redis does: all sources are one text, but for includes
	Text   string   // without blanks at the ends
	Args   []string // behind the name of the directive
}

// Fail makes an error about the line.
func (l Line) Fail(why string) *Error {
	return &Error{File: l.File, Line: l.Number, Text: l.Text, Reason: why}
}

// Loaded is what a configuration says.
type Loaded struct {
	File     string   // absolute path of the configuration file, "" if there is none
	Users    []Line   // "user" lines, which access control reads
	Renames  []Line   // "rename-command" lines: old and new name, empty to take the command away
	Warnings []string // what should be logged

	values   []Value
	included map[string]bool // names of directives that included files set
	userSeen map[string]bool // names of users that included files define
}

// Load reads a configuration. The error is an *Error, or a *FileError.
func Load(in Input) (*Loaded, error) {
	file, fromStdin, options := Arguments(in.Args)
	l := loader{Input: in, dir: filepath.Clean(in.WorkDir), out: &Loaded{
		values:   append([]Value(nil), table().defaults...),
		included: map[string]bool{},
		userSeen: map[string]bool{},
	}}
	l.out.values[rowOf("dir")] = textValue(l.dir)
	text := ""
	if file != "" {
		l.out.File = l.absolute(file)
		content, err := l.read(file, l.out.File)
		if err != nil {
			return nil, err
		}
		text = content
	}
	fileLines := countLines(text)
	if fromStdin && in.Stdin != nil {
		content, err := in.Stdin()
		if err != nil {
			return nil, &FileError{Path: "-", Err: err}
		}
		text = endLine(text) + string(content)
	}
	if err := l.text(text+"\n"+options, l.out.File, fileLines, 0); err != nil {
		return nil, err
	}
	if err := l.finish(); err != nil {
		return nil, err
	}
	return l.out, nil
}

func countLines(text string) int { return strings.Count(endLine(text), "\n") }

// endLine adds the end of the last line, if it is not there.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// loader is the state of one Load.
type loader struct {
	Input
	out       *Loaded
	dir       string // where relative paths start: the last dir
	files     int    // included so far
	saveGiven bool   // a first save took the place of the default
}

// text reads lines. The first so many are of the file, the others of standard input and the command line.
func (l *loader) text(text, file string, fileLines, depth int) error {
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if number > fileLines {
			file = ""
		}
		line = strings.Trim(line, trimmedFromALine)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := l.line(Line{File: file, Number: number, Text: line}, depth); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) line(at Line, depth int) error {
	words, ok := splitWords(at.Text)
	if !ok {
		return at.Fail(string(badQuotes))
	}
	if len(words) == 0 {
		return nil
	}
	name := strings.ToLower(words[0])
	at.Args = words[1:]
	if e, known := table().find(name); known {
		if err := l.assign(e.at, at.Args, depth); err != nil {
			return at.Fail(err.Error())
		}
		return nil
	}
	return l.special(name, at, depth)
}

// assign sets a directive from the arguments of a line.
func (l *loader) assign(row int, args []string, depth int) error {
	d := &table().rows[row]
	if !d.multi() && len(args) != 1 {
		return badArgumentCount
	}
	if d.multi() && len(args) == 1 || d.Kind == Save {
		args = splitAll(args)
	}
	old := l.out.values[row]
	v, err := d.parse(args, old)
	if err != nil {
		return err
	}
	switch d.Kind {
	case Save:
		v = l.addSavePoints(old, v, isNothing(args))
	case Directory:
		if err := l.enterDirectory(v.text); err != nil {
			return err
		}
	}
	l.set(row, v, depth)
	return nil
}

// splitAll splits arguments at blanks, so that `save "900 1" "300 10"` is what it looks like. (Redis does this for one
// argument only.) An argument whose quotes are wrong is left as it is.
func splitAll(args []string) []string {
	var list []string
	for _, arg := range args {
		words, ok := splitWords(arg)
		if !ok || arg == "" {
			words = []string{arg}
		}
		list = append(list, words...)
	}
	return list
}

func (l *loader) set(row int, v Value, depth int) {
	l.out.values[row] = v
	if depth > 0 {
		l.out.included[table().rows[row].Name] = true
	}
}

// addSavePoints joins the points of several lines. The first line takes the place of the default; an empty one starts anew.
func (l *loader) addSavePoints(old, more Value, anew bool) Value {
	if anew || !l.saveGiven {
		l.saveGiven = true
		return more
	}
	return saveValue(append(append([]SavePoint(nil), old.SavePoints()...), more.SavePoints()...))
}

func (l *loader) enterDirectory(path string) error {
	if l.EnterDir != nil {
		if err := l.EnterDir(path); err != nil {
			return reason(osText(err))
		}
	}
	l.dir = path
	return nil
}

func (l *loader) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(l.dir, path)
}

// special reads the lines that are no settings.
func (l *loader) special(name string, at Line, depth int) error {
	switch {
	case ignored(name) && len(at.Args) == 1:
		return nil
	case name == "include" && len(at.Args) == 1:
		return l.include(at, depth)
	case name == "rename-command" && len(at.Args) == 2:
		l.out.Renames = append(l.out.Renames, at)
		return nil
	case name == "user" && len(at.Args) >= 1:
		l.out.Users = append(l.out.Users, at)
		if depth > 0 {
			l.out.userSeen[at.Args[0]] = true
		}
		return nil
	case name == "loadmodule" && len(at.Args) >= 1:
		return at.Fail(string(noModules))
	case name == "sentinel":
		return at.Fail(string(noSentinel))
	case strings.Contains(name, "."):
		return at.Fail(string(noModuleSettings))
	}
	return at.Fail(string(badDirective))
}

// ignored are directives of older versions that Redis takes and forgets.
func ignored(name string) bool {
	switch name {
	case "list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands":
		return true
	}
	return false
}

// include reads a file, or all files that match a pattern.
func (l *loader) include(at Line, depth int) error {
	if depth++; depth > includeDepthMax {
		return at.Fail(string(includeTooDeep))
	}
	given := []string{at.Args[0]}
	if strings.ContainsAny(at.Args[0], patternCharacters) {
		if l.Glob == nil {
			return at.Fail("include with a pattern is not possible here")
		}
		found, err := l.Glob(l.absolute(at.Args[0]))
		if err != nil {
			return at.Fail(err.Error())
		}
		given = found
	}
	for _, file := range given {
		if l.files++; l.files > includeFilesMax {
			return at.Fail(string(includeTooDeep))
		}
		path := l.absolute(file)
		content, err := l.read(file, path)
		if err != nil {
			return err
		}
		if err := l.text(content, path, countLines(content), depth); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) read(given, path string) (string, error) {
	if l.ReadFile == nil {
		return "", &FileError{Path: given, Err: errors.New("no files can be read here")}
	}
	content, err := l.ReadFile(path)
	if err != nil {
		return "", &FileError{Path: given, Err: err}
	}
	return string(content), nil
}

// finish looks at values together.
func (l *loader) finish() error {
	s := Snapshot{values: l.out.values}
	if path := s.String("logfile"); path != "" && l.TryLog != nil {
		if err := l.TryLog(path); err != nil {
			return &Error{Reason: string(badLogFile(err))}
		}
	}
	if !s.Bool("cluster-enabled") {
		return nil
	}
	if _, _, ok := s.Value("replicaof").Primary(); ok {
		return &Error{Reason: string(replicaInCluster)}
	}
	base := s.Int("port")
	if s.Bool("tls-cluster") {
		base = s.Int("tls-port")
	}
	if s.Int("cluster-port") == 0 && base+busPortOffset > portMax {
		return &Error{Reason: string(busPortTooHigh(base))}
	}
	row := rowOf("databases")
	if !equal(l.out.values[row], table().defaults[row]) && s.Int("databases") != clusterDatabases {
		l.out.Warnings = append(l.out.Warnings, "databases is "+s.String("databases")+", but a cluster has one")
	}
	l.out.values[row] = Value{num: clusterDatabases, text: plainNumber(clusterDatabases)}
	return nil
}
