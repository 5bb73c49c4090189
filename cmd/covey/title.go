package main

import (
	"os"
	"strings"
)

// ownStrings copies the command line and the environment out of the memory that the kernel has laid them in, where setTitle
// writes. What Go has of them points there.
func ownStrings() {
	for i, arg := range os.Args {
		os.Args[i] = strings.Clone(arg)
	}
	environment := os.Environ()
	for i, pair := range environment {
		environment[i] = strings.Clone(pair)
	}
	os.Clearenv()
	for _, pair := range environment {
		if name, value, ok := strings.Cut(pair, "="); ok {
			_ = os.Setenv(name, value) // what cannot be set is no variable
		}
	}
}
