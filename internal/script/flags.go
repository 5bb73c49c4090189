package script

import (
	"fmt"
	"strings"
)

// Flags are what a script says of itself in its first line, or a function when it is registered.
type Flags uint8

// The flags of scripts. Compat is a script without a first line: it may do what scripts could do of old.
const (
	NoWrites Flags = 1 << iota
	AllowOOM
	AllowStale
	NoCluster
	AllowCrossSlot
	Compat
)

// flagNames are the flags in the order in which they are shown.
var flagNames = [...]string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// Names are the names of the flags.
func (f Flags) Names() (list []string) {
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// flagOf finds a flag by its name.
func flagOf(name string, fold bool) (Flags, bool) {
	for i, n := range flagNames {
		if n == name || fold && strings.EqualFold(n, name) {
			return 1 << i, true
		}
	}
	return 0, false
}

// Shebang reads the first line of a script. length is how much of the body it is, without the line feed.
func Shebang(body string) (flags Flags, length int, err error) {
	if !strings.HasPrefix(body, "#!") {
		return Compat, 0, nil
	}
	length = strings.IndexByte(body, '\n')
	if length < 0 {
		return 0, 0, &syntaxError{"Invalid script shebang"}
	}
	parts, ok := splitArgs(body[:length])
	if !ok || len(parts) == 0 {
		return 0, 0, &syntaxError{"Invalid engine in script shebang"}
	}
	if parts[0] != "#!lua" {
		return 0, 0, &syntaxError{"Unexpected engine in script shebang: " + parts[0]}
	}
	for _, part := range parts[1:] {
		list, ok := strings.CutPrefix(part, "flags=")
		if !ok {
			return 0, 0, &syntaxError{"Unknown lua shebang option: " + part}
		}
		if list == "" {
			continue
		}
		for _, name := range strings.Split(list, ",") {
			f, ok := flagOf(name, false)
			if !ok {
				return 0, 0, &syntaxError{"Unexpected flag in script shebang: " + name}
			}
			flags |= f
		}
	}
	return flags, length, nil
}

// splitArgs splits a line into words as the configuration file does; quotes may hold anything.
func splitArgs(line string) (words []string, ok bool) {
	for i := 0; ; {
		for i < len(line) && strings.IndexByte(spaces, line[i]) >= 0 {
			i++
		}
		if i >= len(line) {
			return words, true
		}
		var word strings.Builder
		var quote byte
		for ; i < len(line); i++ {
			ch := line[i]
			switch {
			case quote == '"' && ch == '\\' && i+1 < len(line):
				i++
				word.WriteByte(unescape(line[i]))
			case quote != 0 && ch == quote:
				if i+1 < len(line) && strings.IndexByte(spaces, line[i+1]) < 0 {
					return nil, false
				}
				quote = 0
			case quote == 0 && (ch == '"' || ch == '\''):
				quote = ch
			case quote == 0 && strings.IndexByte(spaces, ch) >= 0:
				goto done
			default:
				word.WriteByte(ch)
			}
		}
	done:
		if quote != 0 {
			return nil, false
		}
		words = append(words, word.String())
	}
}

func unescape(c byte) byte {
	if i := strings.IndexByte("nrtba", c); i >= 0 {
		return "\n\r\t\b\a"[i]
	}
	return c
}

// metadata is the first line of a library.
func metadata(code string) (engine, name, body string, err error) {
	fail := func(format string, args ...any) (string, string, string, error) {
		return "", "", "", &syntaxError{fmt.Sprintf(format, args...)}
	}
	if !strings.HasPrefix(code, "#!") {
		return fail("Missing library metadata")
	}
	line, _, found := strings.Cut(code, "\n")
	if !found {
		return fail("Invalid library metadata")
	}
	parts, ok := splitArgs(line)
	if !ok || len(parts) == 0 {
		return fail("Invalid library metadata")
	}
	given := false
	for _, part := range parts[1:] {
		if len(part) < 5 || !strings.EqualFold(part[:5], "name=") {
			return fail("Invalid metadata value given: %s", part)
		}
		if given {
			return fail("Invalid metadata value, name argument was given multiple times")
		}
		name, given = part[5:], true
	}
	if !given {
		return fail("Library name was not given")
	}
	return parts[0][2:], name, code[len(line):], nil
}
