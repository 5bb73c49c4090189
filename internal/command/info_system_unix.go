//go:build unix

package command

import (
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// operatingSystem names the system as uname -srm does.
func operatingSystem() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS
	}
	names := []string{
		unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]),
	}
	return strings.Join(names, " ")
}
