package compat

import (
	"fmt"
	"os"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

func TestMain(m *testing.M) {
	if err := testkit.SeedRapid(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}
