// CONFIG GET.

package config

import (
	"strings"

	"github.com/covey-db/covey/internal/glob"
)

// Pair is a name and the value that CONFIG GET shows for it.
type Pair struct{ Name, Value string }

// Get finds the directives that any of the patterns matches, aliases included, each once. A name without wildcards is shown
// as it was asked for, and finds hidden directives too.
func (s Snapshot) Get(patterns ...string) []Pair {
	var found []Pair
	seen := map[string]bool{}
	add := func(name string, at int) {
		if key := strings.ToLower(name); !seen[key] {
			seen[key] = true
			found = append(found, Pair{name, s.values[at].text})
		}
	}
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, patternCharacters) {
			if e, ok := table().find(pattern); ok {
				add(pattern, e.at)
			}
			continue
		}
		for _, e := range table().names {
			if table().rows[e.at].Has(Hidden) {
				continue
			}
			if glob.Match([]byte(pattern), []byte(e.name), true) {
				add(e.name, e.at)
			}
		}
	}
	return found
}

// Get is Snapshot.Get of the values as they are now.
func (s *Store) Get(patterns ...string) []Pair { return s.now.Load().Get(patterns...) }
