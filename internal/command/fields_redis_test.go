package command_test

import (
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// The names in replies that tools read, compared with those of redis-server. What differs is listed with its reason.

// infoAdds are fields that redis-server 7.0 does not have.
var infoAdds = map[string]string{
	"covey_version": "own", "go_version": "own", "covey_go_heap": "own",
	"acl_access_denied_auth": "7.2", "acl_access_denied_channel": "7.2", "acl_access_denied_cmd": "7.2", "acl_access_denied_key": "7.2",
	"client_query_buffer_limit_disconnections": "7.4", "client_output_buffer_limit_disconnections": "7.4",
	"monotonic_clock": "7.2", "listener0": "7.2", "expired_subkeys": "7.4", "total_blocking_keys": "7.2", "total_blocking_keys_on_nokey": "7.2",
	"eventloop_cycles": "7.2", "eventloop_duration_sum": "7.2", "eventloop_duration_cmd_sum": "7.2",
	"instantaneous_eventloop_cycles_per_sec": "7.2", "instantaneous_eventloop_duration_usec": "7.2",
}

func pair(t *testing.T) (ours, theirs *testkit.Client) {
	t.Helper()
	servers := []testkit.Binary{testkit.Covey(t), testkit.Redis(t)}
	var clients []*testkit.Client
	for _, b := range servers {
		s := testkit.Start(t, testkit.Options{Binary: b})
		clients = append(clients, testkit.Dial(t, s.Addr()))
	}
	return clients[0], clients[1]
}

// infoFields are the names of INFO's fields, with their sections.
func infoFields(t *testing.T, c *testkit.Client) map[string]bool {
	t.Helper()
	c.OK(t, "SET", "k", "v")
	c.Do(t, "GET", "k", "too much")
	fields := map[string]bool{}
	section := ""
	for line := range strings.Lines(c.Do(t, "INFO", "everything").Text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "# ") {
			section = line[2:]
			continue
		}
		name, _, ok := strings.Cut(line, ":")
		if ok && section != "Latencystats" && !strings.HasPrefix(name, "cmdstat_") {
			fields[name] = true
		}
	}
	return fields
}

func TestInfoFieldsAreThoseOfRedis(t *testing.T) {
	ours, theirs := pair(t)
	have, want := infoFields(t, ours), infoFields(t, theirs)
	for _, name := range missing(want, have) {
		t.Errorf("INFO lacks %s", name)
	}
	for _, name := range missing(have, want) {
		if infoAdds[name] == "" {
			t.Errorf("INFO has %s, which redis-server has not", name)
		}
	}
}

// missing lists what is in a and not in b.
func missing(a, b map[string]bool) (names []string) {
	for name := range a {
		if !b[name] {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func TestClientListFieldsAreThoseOfRedis(t *testing.T) {
	ours, theirs := pair(t)
	fields := func(c *testkit.Client) (names []string) {
		for _, word := range strings.Fields(c.Do(t, "CLIENT", "LIST").Text) {
			name, _, _ := strings.Cut(word, "=")
			if name != "lib-name" && name != "lib-ver" { // 7.2
				names = append(names, name)
			}
		}
		return names
	}
	if have, want := fields(ours), fields(theirs); !slices.Equal(have, want) {
		t.Errorf("ours:\n%v\ntheirs:\n%v", have, want)
	}
}

// commandDiffers are commands that 7.2 describes otherwise than 7.0, by name.
var commandDiffers = map[string]string{
	"wait":                    "7.2 allows it in scripts",
	"blmove":                  "7.2 allows it in scripts",
	"blpop":                   "7.2 allows it in scripts",
	"brpop":                   "7.2 allows it in scripts",
	"brpoplpush":              "7.2 allows it in scripts",
	"bzpopmax":                "7.2 allows it in scripts",
	"bzpopmin":                "7.2 allows it in scripts",
	"zrank":                   "7.2 has WITHSCORE",
	"zrevrank":                "7.2 has WITHSCORE",
	"command|getkeys":         "7.2 asks for one argument less",
	"command|getkeysandflags": "7.2 asks for one argument less",
	"cluster|shards":          "7.2 answers while it loads",
	"cluster|slots":           "7.2 answers while it loads",
}

// TestCommandRowsAreThoseOfRedis compares arity, flags, key positions and categories of every command.
func TestCommandRowsAreThoseOfRedis(t *testing.T) {
	ours, theirs := pair(t)
	rows := func(c *testkit.Client) map[string]string {
		all := map[string]string{}
		for _, row := range c.Do(t, "COMMAND").Items {
			collectRow(all, row)
		}
		return all
	}
	have, want := rows(ours), rows(theirs)
	for name, row := range have {
		if theirs, ok := want[name]; ok && row != theirs && commandDiffers[name] == "" {
			t.Errorf("%s:\n  ours:   %s\n  theirs: %s", name, row, theirs)
		}
	}
}

// collectRow notes a row and its sub-commands by name: arity, flags, positions and categories as one text.
func collectRow(all map[string]string, row reply.Value) {
	if len(row.Items) < 10 {
		return
	}
	var text []string
	for _, field := range row.Items[1:7] {
		words := field.Strings()
		if len(words) == 0 {
			words = []string{field.Plain()}
		}
		sort.Strings(words)
		text = append(text, strings.Join(words, ","))
	}
	all[row.Items[0].Plain()] = strings.Join(text, " ")
	for _, sub := range row.Items[9].Items {
		collectRow(all, sub)
	}
}
