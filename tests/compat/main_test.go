package compat

import (
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
