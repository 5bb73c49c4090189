package config

import "strings"

// titleVariables are those of proc-title-template, and whether they always have a value.
var titleVariables = map[string]bool{ // does not change
	"title": false, "server-mode": false, "unixsocket": false,
	"listen-addr": true, "config-file": true, "port": true, "tls-port": true,
}

// ExpandTitle fills in the variables of a proc-title-template, which stand in braces; "{{" is a brace. ok is false when one is
// unknown or its brace is not closed.
func ExpandTitle(template string, values map[string]string) (title string, ok bool) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return strings.Trim(b.String(), " "), true
		}
		if strings.HasPrefix(rest, "{") {
			b.WriteByte('{')
			template = rest[1:]
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		if _, known := titleVariables[name]; !known || !closed {
			return "", false
		}
		b.WriteString(values[name])
		template = after
	}
}

// checkTitle wants that something is left of the template when the variables that may be empty are.
func checkTitle(template string) error {
	values := map[string]string{}
	for name, always := range titleVariables {
		if always {
			values[name] = name
		}
	}
	title, ok := ExpandTitle(template, values)
	return unless(ok && title != "", badTitle)
}
