// The command line of redis-server: what is a file, what are options.

package config

import "strings"

// Arguments takes the command line apart: the configuration file, whether standard input is read, and the options as lines
// of a configuration file.
//
// An option is one argument, "--port 7000", or a name and the arguments behind it up to the next one that starts with two
// dashes. The argument next to a name is its value, even if it starts with dashes; but "--save" may be without one.
func Arguments(args []string) (file string, stdin bool, options string) {
	at := 0
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		file = args[0]
		at = 1
	}
	var b strings.Builder
	mayBeName := true // false behind a name that still wants its value
	for ; at < len(args); at++ {
		arg, isLast := args[at], at == len(args)-1
		switch {
		case arg == "-" && (at == 0 || isLast):
			stdin = true
		case mayBeName && strings.HasPrefix(arg, "--"):
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(arg[2:] + " ")
			nextIsOption := !isLast && strings.HasPrefix(args[at+1], "--")
			words, _ := splitWords(arg)
			switch {
			case len(words) != 1:
				mayBeName = true
			case strings.EqualFold(arg, "--save") && (isLast || nextIsOption):
				b.WriteString(`""`)
				mayBeName = true
			default:
				mayBeName = strings.EqualFold(arg, "--sentinel") && nextIsOption
			}
		default:
			b.WriteString(quote(arg) + " ")
			mayBeName = true
		}
	}
	return file, stdin, b.String()
}
