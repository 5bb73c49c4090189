// How the table of directives is put together.

package config

import (
	"slices"
	"strings"

	"github.com/covey-db/covey/internal/invariant"
)

func buildIndex() *index {
	x := &index{byName: map[string]entry{}}
	for _, part := range [][]Directive{
		networkDirectives(), tlsDirectives(), generalDirectives(), snapshotDirectives(), replicationDirectives(),
		securityDirectives(), memoryDirectives(), appendFileDirectives(), clusterDirectives(), watchingDirectives(),
		collectionDirectives(), hiddenDirectives(),
	} {
		x.rows = append(x.rows, part...)
	}
	slices.SortFunc(x.rows, func(a, b Directive) int { return strings.Compare(a.Name, b.Name) })
	for i := range x.rows {
		x.add(x.rows[i].Name, i)
		if x.rows[i].Alias != "" {
			x.add(x.rows[i].Alias, i)
		}
		x.defaults = append(x.defaults, defaultOf(&x.rows[i]))
	}
	slices.SortFunc(x.names, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return x
}

func (x *index) add(name string, at int) {
	_, known := x.byName[name]
	invariant.That(!known && name == strings.ToLower(name), "directive "+name+" is in the table twice, or not in lower case")
	x.byName[name] = entry{name: name, at: at}
	x.names = append(x.names, x.byName[name])
}

func defaultOf(d *Directive) Value {
	args := []string{d.Default}
	if d.multi() {
		args = strings.Fields(d.Default)
	}
	v, err := d.parse(args, Value{})
	invariant.That(err == nil, "bad default of "+d.Name)
	return v
}

// IsSensitive says whether the value of a directive, whose name may be in any case, must not be logged.
func IsSensitive(name string) bool {
	e, ok := table().find(strings.ToLower(name))
	return ok && table().rows[e.at].Has(Sensitive)
}

// rowOf is the row of a directive that code asks for by name.
func rowOf(name string) int {
	e, ok := table().find(name)
	if !ok {
		invariant.That(false, "no directive has the name "+name)
	}
	return e.at
}
