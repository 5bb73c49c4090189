// What the documentation says of single directives.

package config

import "strings"

// WithoutEffect lists the directives that are accepted, shown and kept, but do nothing, as a Markdown table with the reasons.
func WithoutEffect() string {
	var b strings.Builder
	b.WriteString("| directive | why it has no effect |\n|---|---|\n")
	for _, d := range table().rows {
		if d.NoEffect != "" {
			b.WriteString("| `" + d.Name + "` | " + d.NoEffect + " |\n")
		}
	}
	return b.String()
}
