package server

import (
	"io"
	"testing"

	"github.com/covey-db/covey/internal/config"
)

// TestNoDoorOpensAtTheEnd: CONFIG SET port that comes while the node ends opens nothing, as nobody would close it.
func TestNoDoorOpensAtTheEnd(t *testing.T) {
	loaded, err := config.Load(config.Input{WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Config: loaded, Output: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	s.listeners.close()
	if err := s.store.Set([]string{"port", "21999"}, config.Caller{}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.listeners.open); n > 0 {
		t.Error(n, "doors are open")
		s.listeners.close()
	}
}
