//go:build amd64 || arm64

package mem

// prefetch asks for the line with the given address.
//
//go:noescape
func prefetch(address uintptr)
