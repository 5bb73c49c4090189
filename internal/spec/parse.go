package spec

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The rows, one file for each group of commands. A file is read line by line; empty lines and lines that start with # mean
// nothing.
//
//	group string                          the group of the rows below
//
//	set                                   begins the row of SET; "config|get" that of a subcommand, after the row "config"
//	  summary    Writes a string.         what COMMAND DOCS says
//	  since      1.0.0
//	  arity      -3                       counts the name, and in a subcommand both names; negative: at least
//	  flags      write denyoom            see Flag
//	  acl        write string slow        every ACL category, also those that follow from flags
//	  complexity O(1)
//	  deprecated 6.2.0 `GETRANGE`         since when, and what to use instead
//	  doc        syscmd                   meant for servers
//	  history    7.0.0 what changed       any number of them
//	  tip        request_policy:all_nodes any number of them
//	  key        RW access | index 1 | range 0 1 0 | note
//	                                      any number of them: flags; where the search begins (index N, keyword WORD FROM,
//	                                      unknown); which keys follow (range LAST STEP LIMIT, keynum NUMBER FIRST STEP,
//	                                      unknown); a note, if there is one
//	  finder     set                      the code that finds keys where the specs cannot, see finder
//	  channels   publish 1 1              flags, position of the first channel and their number (-1: all that follow)
//	  args                                arguments in their order, one on a line: name, type, then in any order
//	    key key @0                        @N is the key spec that finds it
//	    condition oneof ?                 ? optional, * any number of it, ** the same with the token repeated
//	      nx pure-token =NX since:2.6.12  =NX is the token; since: and until: tell versions; show: is what to display.
//	                                      The parts of a oneof or a block stand deeper by two spaces.
//
//go:embed data/*.txt
var files embed.FS

// Load parses the table. It takes a few hundred microseconds; call it once and share what it returns.
func Load() (*Table, error) {
	list, err := files.ReadDir("data")
	if err != nil {
		return nil, err
	}
	var p parser
	for _, file := range list {
		text, err := files.ReadFile("data/" + file.Name())
		if err != nil {
			return nil, err
		}
		if err := p.parse(string(text)); err != nil {
			return nil, fmt.Errorf("command table: %s:%d: %w", file.Name(), p.line, err)
		}
	}
	return p.table()
}

// parser reads files one after the other. Errors are about p.line of the file at hand.
type parser struct {
	line  int
	group string
	rows  []*Row   // commands so far
	row   *Row     // the row at hand, nil before the first one of a file
	args  []string // its lines below "args"
}

func (p *parser) parse(text string) error {
	p.line, p.group, p.row = 0, "", nil
	for line := range strings.SplitSeq(text, "\n") {
		p.line++
		if err := p.parseLine(line); err != nil {
			return err
		}
	}
	return p.finish()
}

func (p *parser) parseLine(line string) error {
	switch {
	case strings.TrimSpace(line) == "", line[0] == '#':
		return nil
	case strings.HasPrefix(line, "group "):
		p.group = line[len("group "):]
		return nil
	case line[0] != ' ':
		return p.begin(line)
	case p.row == nil:
		return errors.New("a field before the first row")
	case strings.HasPrefix(line, argIndent):
		p.args = append(p.args, line[len(argIndent):])
		return nil
	}
	name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
	return p.field(name, strings.TrimSpace(value))
}

// begin ends the row at hand and starts the one that full names.
func (p *parser) begin(full string) error {
	if err := p.finish(); err != nil {
		return err
	}
	row := &Row{Name: full, Full: full, Group: p.group}
	base, sub, isSub := strings.Cut(full, "|")
	if !isSub {
		p.rows = append(p.rows, row)
		p.row = row
		return nil
	}
	if len(p.rows) == 0 || p.rows[len(p.rows)-1].Name != base {
		return fmt.Errorf("%s does not follow %s", full, base)
	}
	row.Name, row.Parent = sub, p.rows[len(p.rows)-1]
	row.Parent.Subs = append(row.Parent.Subs, row)
	p.row = row
	return nil
}

// finish checks and completes the row at hand.
func (p *parser) finish() error {
	if p.row == nil {
		return nil
	}
	row := p.row
	var rest []string
	var err error
	if row.Args, rest, err = parseArgs(p.args, ""); err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%s: argument %q is too deep", row.Full, rest[0])
	}
	p.args = p.args[:0]
	p.row = nil
	row.deriveKeys()
	return row.check()
}

func (p *parser) field(name, value string) (err error) {
	row := p.row
	switch name {
	case "summary":
		row.Summary = value
	case "since":
		row.Since = value
	case "arity":
		row.Arity, err = strconv.Atoi(value)
	case "complexity":
		row.Complexity = value
	case "doc":
		row.System = true
	case "deprecated":
		row.DeprecatedSince, row.ReplacedBy, _ = strings.Cut(value, " ")
	case "history":
		since, text, _ := strings.Cut(value, " ")
		row.History = append(row.History, Change{since, text})
	case "tip":
		row.Tips = append(row.Tips, value)
	case "key":
		var spec KeySpec
		spec, err = parseKeySpec(value)
		row.KeySpecs = append(row.KeySpecs, spec)
	case "channels":
		row.Channels, err = parseChannels(value)
	case "args": // the lines below it follow
	default:
		return p.set(name, value)
	}
	return err
}

// set reads the fields that are names out of a list.
func (p *parser) set(name, value string) error {
	var bits uint64
	var bad string
	switch name {
	case "flags":
		bits, bad = parseNames(value, flagNames[:])
		p.row.Flags = Flag(bits)
	case "acl":
		bits, bad = parseNames(value, categoryNames[:])
		p.row.Categories = Category(bits)
	case "finder":
		at := indexOf(finderNames[:], value)
		if at < 0 {
			bad = value
		}
		p.row.finder = finder(at)
	default:
		bad = name
	}
	if bad != "" {
		return fmt.Errorf("%s: what is %q?", p.row.Full, bad)
	}
	return nil
}

// table puts all rows in the order of their names and numbers them.
func (p *parser) table() (*Table, error) {
	t := &Table{rows: p.rows}
	slices.SortFunc(t.rows, func(a, b *Row) int { return strings.Compare(a.Name, b.Name) })
	for i, row := range t.rows {
		if i > 0 && t.rows[i-1].Name == row.Name {
			return nil, fmt.Errorf("command table: %s stands twice", row.Name)
		}
		row.ID = len(t.byID)
		t.byID = append(t.byID, row)
		for j, sub := range row.Subs {
			if j > 0 && row.Subs[j-1].Name >= sub.Name {
				return nil, fmt.Errorf("command table: %s is out of order", sub.Full)
			}
			sub.ID = len(t.byID)
			t.byID = append(t.byID, sub)
		}
		if len(row.Subs) > 0 {
			row.subs = indexByName(row.Subs)
		}
	}
	t.names = indexByName(t.rows)
	return t, nil
}

// check refuses a row that cannot be right.
func (r *Row) check() error {
	var wrong string
	switch implied := r.impliedCategories(); {
	case r.Summary == "":
		wrong = "no summary"
	case r.Since == "":
		wrong = "no version"
	case r.Group == "":
		wrong = "no group"
	case r.Arity == 0:
		wrong = "no arity"
	case r.Name == "" || strings.ToLower(r.Name) != r.Name:
		wrong = "a name that is empty or not in lower case"
	case r.Flags&MovableKeys != 0 && !r.keysMove():
		wrong = "movablekeys, which follows from the key specs"
	case r.Categories&implied != implied:
		wrong = "lacks the categories " + (implied &^ r.Categories).String()
	case r.Categories&CatFast != 0 && r.Categories&CatSlow != 0:
		wrong = "fast and slow"
	}
	if wrong == "" {
		wrong = r.checkArgs(r.Args)
	}
	if wrong != "" {
		return fmt.Errorf("%s: %s", r.Full, wrong)
	}
	return nil
}

// checkArgs says what is wrong with arguments, or nothing.
func (r *Row) checkArgs(args []Arg) string {
	for i := range args {
		arg := &args[i]
		switch nested := arg.Type == ArgOneOf || arg.Type == ArgBlock; {
		case nested && len(arg.Args) < 2:
			return "argument " + arg.Name + " has less than two parts"
		case !nested && len(arg.Args) > 0:
			return "argument " + arg.Name + " may not have parts"
		case arg.KeySpec >= len(r.KeySpecs):
			return "argument " + arg.Name + " is of a key spec that does not exist"
		case arg.Type == ArgPureToken && arg.Flags&ArgHasToken == 0:
			return "argument " + arg.Name + " lacks its token"
		}
		if wrong := r.checkArgs(arg.Args); wrong != "" {
			return wrong
		}
	}
	return ""
}

// impliedCategories are those that follow from the flags. A script's command is not @read, even if it only reads: what it
// reads is up to the script.
func (r *Row) impliedCategories() Category {
	var c Category
	if r.Flags&Write != 0 {
		c |= CatWrite
	}
	if r.Flags&ReadOnly != 0 && r.Categories&CatScripting == 0 {
		c |= CatRead
	}
	if r.Flags&Admin != 0 {
		c |= CatAdmin | CatDangerous
	}
	if r.Flags&PubSub != 0 {
		c |= CatPubSub
	}
	if r.Flags&Blocking != 0 {
		c |= CatBlocking
	}
	if r.Flags&Fast != 0 {
		return c | CatFast
	}
	if r.Categories&CatFast != 0 {
		return c
	}
	return c | CatSlow
}
