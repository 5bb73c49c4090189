package persist

import (
	"errors"

	"github.com/covey-db/covey/internal/engine"
)

// Handlers are the commands of persistence.
func (s *Saver) Handlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"save":     {Run: s.cmdSave},
		"bgsave":   {Run: s.cmdBgSave},
		"lastsave": {Run: func(c *engine.Ctx) { c.ReplyInt(s.LastSave().Unix()) }},
	}
}

func (s *Saver) cmdSave(c *engine.Ctx) {
	switch err := s.Save(); {
	case errors.Is(err, ErrRunning):
		c.Err("ERR " + ErrRunning.Error())
	case err != nil:
		c.Err("ERR " + err.Error())
	default:
		c.OK()
	}
}

func (s *Saver) cmdBgSave(c *engine.Ctx) {
	schedule := false
	if len(c.Args) > 1 {
		if len(c.Args) > 2 || !c.ArgIs(1, "SCHEDULE") {
			c.Err(engine.ErrSyntax)
			return
		}
		schedule = true
	}
	busy := s.Running()
	switch err := s.BgSave(schedule); {
	case err != nil:
		c.Err("ERR " + err.Error())
	case busy && schedule:
		c.Simple("Background saving scheduled")
	default:
		c.Simple("Background saving started")
	}
}
