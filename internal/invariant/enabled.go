//go:build invariants

package invariant

// Enabled says whether this build carries the expensive checks.
const Enabled = true
