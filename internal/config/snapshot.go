// The values at one moment.

package config

// Snapshot are all values at one moment. It does not change.
type Snapshot struct{ values []Value } // by row of the table

// Value is the value of a directive. The name, or alias, must be in the table.
func (s Snapshot) Value(name string) Value {
	return s.values[rowOf(name)]
}

// Bool is the value of a yes/no directive.
func (s Snapshot) Bool(name string) bool { return s.Value(name).Bool() }

// Int is the number of a directive; see Value.Int.
func (s Snapshot) Int(name string) int64 { return s.Value(name).Int() }

// String is a value as CONFIG GET shows it: of a Text, the text.
func (s Snapshot) String(name string) string { return s.Value(name).String() }

// Strings are the addresses of bind.
func (s Snapshot) Strings(name string) []string { return s.Value(name).Strings() }
