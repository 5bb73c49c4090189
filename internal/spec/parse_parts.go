package spec

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	argIndent  = "    " // what precedes an outermost argument
	partIndent = "  "   // and once more for each level below
)

// parseArgs reads the arguments whose lines begin with indent and no further space, together with their parts. rest is what
// follows them.
func parseArgs(lines []string, indent string) (args []Arg, rest []string, err error) {
	for len(lines) > 0 {
		text, ok := strings.CutPrefix(lines[0], indent)
		if !ok || text[0] == ' ' {
			break
		}
		arg, err := parseArg(text)
		if err != nil {
			return nil, nil, err
		}
		if arg.Args, lines, err = parseArgs(lines[1:], indent+partIndent); err != nil {
			return nil, nil, err
		}
		args = append(args, arg)
	}
	return args, lines, nil
}

func parseArg(text string) (Arg, error) {
	arg := Arg{KeySpec: -1}
	name, text, _ := strings.Cut(text, " ")
	kind, text, _ := strings.Cut(text, " ")
	at := indexOf(argTypeNames[:], kind)
	if at < 0 {
		return arg, fmt.Errorf("argument %s: unknown type %q", name, kind)
	}
	arg.Name, arg.Type = name, ArgType(at)
	if arg.Type != ArgOneOf && arg.Type != ArgBlock {
		arg.Display = name
	}
	for word := range strings.FieldsSeq(text) {
		if err := arg.property(word); err != nil {
			return arg, fmt.Errorf("argument %s: %w", name, err)
		}
	}
	return arg, nil
}

func (a *Arg) property(word string) (err error) {
	tag, value, tagged := strings.Cut(word, ":")
	switch {
	case word == "?":
		a.Flags |= ArgOptional
	case word == "*":
		a.Flags |= ArgMultiple
	case word == "**":
		a.Flags |= ArgMultiple | ArgMultipleToken
	case word[0] == '=':
		a.Token = word[1:]
		a.Flags |= ArgHasToken
	case word[0] == '@':
		a.KeySpec, err = strconv.Atoi(word[1:])
	case tagged && tag == "since":
		a.Since = value
	case tagged && tag == "until":
		a.DeprecatedSince = value
	case tagged && tag == "show":
		a.Display = value
	default:
		err = fmt.Errorf("what is %q?", word)
	}
	return err
}

// keySpecParts is the number of parts of a key spec when it has a note.
const keySpecParts = 4

func parseKeySpec(text string) (KeySpec, error) {
	var s KeySpec
	parts := strings.SplitN(text, " | ", keySpecParts)
	if len(parts) < keySpecParts-1 {
		return s, fmt.Errorf("key spec %q lacks a part", text)
	}
	if len(parts) == keySpecParts {
		s.Notes = parts[3]
	}
	flags, bad := parseNames(parts[0], keyFlagNames[:])
	if bad != "" {
		return s, fmt.Errorf("unknown key flag %q", bad)
	}
	s.Flags = KeyFlag(flags)
	begin, find := strings.Fields(parts[1]), strings.Fields(parts[2])
	if !s.parseBegin(begin) || !s.parseFind(find) {
		return s, fmt.Errorf("bad key spec %q", text)
	}
	return s, nil
}

func (s *KeySpec) parseBegin(words []string) bool {
	switch {
	case len(words) == 1 && words[0] == "unknown":
		return true
	case len(words) == 2 && words[0] == "index":
		s.Begin = BeginIndex
		return parseInts(words[1:], &s.Index) && s.Index > 0
	case len(words) == 3 && words[0] == "keyword":
		s.Begin, s.Keyword = BeginKeyword, words[1]
		s.keyword = strings.ToLower(s.Keyword)
		return parseInts(words[2:], &s.StartFrom) && s.StartFrom != 0
	}
	return false
}

func (s *KeySpec) parseFind(words []string) bool {
	switch {
	case len(words) == 1 && words[0] == "unknown":
		return true
	case len(words) == 4 && words[0] == "range":
		s.Find = FindRange
		return parseInts(words[1:], &s.Last, &s.Step, &s.Limit) && s.Step > 0 && s.Limit >= 0 &&
			(s.Limit == 0 || s.Last == -1)
	case len(words) == 4 && words[0] == "keynum":
		s.Find = FindKeyNum
		return parseInts(words[1:], &s.NumberAt, &s.First, &s.Step) && s.NumberAt >= 0 && s.First > 0 && s.Step > 0
	}
	return false
}

func parseChannels(text string) (ChannelSpec, error) {
	var c ChannelSpec
	words := strings.Fields(text)
	if len(words) < 3 {
		return c, fmt.Errorf("channels %q lack a part", text)
	}
	at := len(words) - 2
	flags, bad := parseNames(strings.Join(words[:at], " "), channelFlagNames[:])
	c.Flags = ChannelFlag(flags)
	if bad != "" || !parseInts(words[at:], &c.First, &c.Count) || c.First < 1 {
		return c, fmt.Errorf("bad channels %q", text)
	}
	return c, nil
}

// parseInts reads one number for each target.
func parseInts(words []string, targets ...*int) bool {
	for i, target := range targets {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			return false
		}
		*target = n
	}
	return true
}
