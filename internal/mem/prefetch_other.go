//go:build !amd64 && !arm64

package mem

func prefetch(uintptr) {}
