package command

import (
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/engine"
)

// This file holds client-side caching: CLIENT TRACKING and what belongs to it.

func cmdClientTracking(c *engine.Ctx) {
	m, ok := trackingOptions(c)
	if !ok {
		return
	}
	switch {
	case c.ArgIs(2, "OFF"):
		c.S.EndTracking()
	case !c.ArgIs(2, "ON"):
		c.Err(engine.ErrSyntax)
		return
	default:
		if text := trackingConflict(c.S, &m); text != "" {
			c.Err("ERR " + text)
			return
		}
		c.S.Track(m)
	}
	c.OK()
}

// trackingOptions reads the words behind ON or OFF; false when the error has been replied.
func trackingOptions(c *engine.Ctx) (m engine.TrackingMode, ok bool) {
	for i := 3; i < len(c.Args); i++ {
		more := i+1 < len(c.Args)
		switch {
		case c.ArgIs(i, "REDIRECT") && more:
			i++
			if m.Redirect != 0 {
				c.Err("ERR A client can only redirect to a single other client")
				return m, false
			}
			if m.Redirect, ok = c.Int(i); !ok {
				return m, false
			}
			if c.Engine().Clients.Get(m.Redirect) == nil {
				c.Err("ERR The client ID you want redirect to does not exist")
				return m, false
			}
		case c.ArgIs(i, "BCAST"):
			m.Broadcast = true
		case c.ArgIs(i, "OPTIN"):
			m.OptIn = true
		case c.ArgIs(i, "OPTOUT"):
			m.OptOut = true
		case c.ArgIs(i, "NOLOOP"):
			m.NoLoop = true
		case c.ArgIs(i, "PREFIX") && more:
			i++
			m.Prefixes = append(m.Prefixes, string(c.Args[i]))
		default:
			c.Err(engine.ErrSyntax)
			return m, false
		}
	}
	return m, true
}

// trackingConflict is why options do not go together, or not with what the session does already; "" if they do.
func trackingConflict(s *engine.Session, m *engine.TrackingMode) string {
	old, on := s.TrackingMode()
	switch {
	case !m.Broadcast && len(m.Prefixes) > 0:
		return "PREFIX option requires BCAST mode to be enabled"
	case on && old.Broadcast != m.Broadcast:
		return "You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	case m.Broadcast && (m.OptIn || m.OptOut):
		return "OPTIN and OPTOUT are not compatible with BCAST"
	case m.OptIn && m.OptOut:
		return "You can't specify both OPTIN mode and OPTOUT mode"
	case m.OptIn && old.OptOut || m.OptOut && old.OptIn:
		return "You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."
	}
	for i, p := range m.Prefixes {
		if other, ok := overlapping(p, old.Prefixes); ok {
			return fmt.Sprintf("Prefix '%s' overlaps with an existing prefix '%s'. Prefixes for a single client must not overlap.", p, other)
		}
		if other, ok := overlapping(p, m.Prefixes[i+1:]); ok {
			return fmt.Sprintf("Prefix '%s' overlaps with another provided prefix '%s'. Prefixes for a single client must not overlap.", p, other)
		}
	}
	return ""
}

// overlapping finds a prefix that is a prefix of p, or has p as one.
func overlapping(p string, list []string) (string, bool) {
	for _, other := range list {
		if strings.HasPrefix(p, other) || strings.HasPrefix(other, p) {
			return other, true
		}
	}
	return "", false
}

func cmdClientCaching(c *engine.Ctx) {
	m, on := c.S.TrackingMode()
	switch {
	case !on:
		c.Err("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case c.ArgIs(2, "YES") && !m.OptIn:
		c.Err("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case c.ArgIs(2, "NO") && !m.OptOut:
		c.Err("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case c.ArgIs(2, "YES"), c.ArgIs(2, "NO"):
		c.S.SetCaching()
		c.OK()
	default:
		c.Err(engine.ErrSyntax)
	}
}

func cmdClientTrackingInfo(c *engine.Ctx) {
	m, on := c.S.TrackingMode()
	flags := []string{"off"}
	if on {
		flags[0] = "on"
	}
	add := func(is bool, name string) {
		if is {
			flags = append(flags, name)
		}
	}
	add(m.Broadcast, "bcast")
	add(m.OptIn, "optin")
	add(m.OptIn && c.S.Caching(), "caching-yes")
	add(m.OptOut, "optout")
	add(m.OptOut && c.S.Caching(), "caching-no")
	add(m.NoLoop, "noloop")
	add(c.S.Flags()&engine.FlagTrackingBroken != 0, "broken_redirect")
	c.Map(3)
	c.BulkString("flags")
	c.Set(len(flags))
	for _, f := range flags {
		c.BulkString(f)
	}
	c.BulkString("redirect")
	c.ReplyInt(c.S.Redirect())
	c.BulkString("prefixes")
	prefixes := m.Prefixes
	c.Array(len(prefixes))
	for _, p := range prefixes {
		c.BulkString(p)
	}
}
