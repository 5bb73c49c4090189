package command

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// listener is a server with a client that sends it commands and one that hears of keyspace events.
type listener struct {
	*testkit.Client
	ears *testkit.Client
}

func listen(t *testing.T, b testkit.Binary) *listener {
	t.Helper()
	s := testkit.Start(t, testkit.Options{Binary: b})
	l := &listener{s.Dial(t), s.Dial(t)}
	l.OK(t, "CONFIG", "SET", "notify-keyspace-events", "EAmn")
	l.ears.Do(t, "PSUBSCRIBE", "__keyevent@*")
	return l
}

// events sends a command and returns the events it makes, in order.
func (l *listener) events(t *testing.T, args []string) (list []string) {
	t.Helper()
	l.Do(t, args...)
	if err := l.ears.Send("PING"); err != nil {
		t.Fatal(err)
	}
	for m := l.ears.Next(t).Strings(); m[0] != "pong"; m = l.ears.Next(t).Strings() {
		list = append(list, strings.TrimPrefix(m[2], "__keyevent@")+" "+m[3])
	}
	return list
}

// TestEventsAreThoseOfRedis sends the commands of testdata/events.txt to both and compares what subscribers hear.
func TestEventsAreThoseOfRedis(t *testing.T) {
	script, err := os.ReadFile("testdata/events.txt")
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := listen(t, testkit.Covey(t)), listen(t, testkit.Redis(t))
	for line := range strings.Lines(string(script)) {
		args := splitLine(t, strings.TrimSpace(line))
		if len(args) == 0 {
			continue
		}
		got, want := ours.events(t, args), theirs.events(t, args)
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n  ours:   %q\n  theirs: %q", args, got, want)
		}
	}
}
