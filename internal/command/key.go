package command

import "github.com/covey-db/covey/internal/engine"

func keyHandlers() map[string]engine.Handler { return nil }
