//go:build profile

package main

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// profiled runs the program and leaves a profile of its processor time, which scripts/profile.sh makes default.pgo of, in the
// file that COVEY_PROFILE names.
func profiled(run func() int) int {
	file, err := os.Create(os.Getenv("COVEY_PROFILE"))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "covey: no profile:", err)
		return 1
	}
	defer file.Close()
	defer pprof.StopCPUProfile()
	return run()
}
