package tests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// TestACLIsThatOfRedis: testdata/acl.txt has commands and, indented, what Redis 7.2.4 answers. _ stands for a space inside an
// argument.
func TestACLIsThatOfRedis(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "acl.txt"))
	if err != nil {
		t.Fatal(err)
	}
	c := testkit.Start(t, testkit.Options{}).Dial(t)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		args := strings.Split(lines[i], " ")
		for n := range args {
			args[n] = strings.ReplaceAll(args[n], "_", " ")
		}
		if got, want := c.Do(t, args...).String(), strings.TrimSpace(lines[i+1]); got != want {
			t.Errorf("%s\n  got:  %v\n  want: %v", lines[i], got, want)
		}
	}
}

// TestChangedUsersAreHeld: what a user may not do any more ends at once, on connections that are open.
func TestChangedUsersAreHeld(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{})
	admin, user, listener := s.Dial(t), s.Dial(t), s.Dial(t)
	admin.Want(t, "+OK", "ACL", "SETUSER", "u", "on", ">p", "~*", "&c*", "+@all", "-acl")
	user.Want(t, "+OK", "AUTH", "u", "p")
	listener.Want(t, "+OK", "AUTH", "u", "p")
	listener.Want(t, `["subscribe" "c1" :1]`, "SUBSCRIBE", "c1")
	user.Want(t, "+OK", "SET", "a", "1")
	user.Want(t, "+OK", "MULTI")
	user.Want(t, "+QUEUED", "GET", "a")
	admin.Want(t, "+OK", "ACL", "SETUSER", "u", "-get", "resetchannels", "&d*")
	user.Want(t, "[-NOPERM...]", "EXEC")
	user.Want(t, "-NOPERM User u has no permissions to run the 'get' command", "GET", "a")
	if v, err := listener.Read(); err == nil {
		t.Errorf("a subscriber that may not listen any more reads %v", v)
	}
	admin.Want(t, ":1", "ACL", "DELUSER", "u")
	if v, err := user.Try("PING"); err == nil {
		t.Errorf("a user that is gone reads %v", v)
	}
	log := admin.OK(t, "ACL", "LOG")
	if len(log.Items) != 2 {
		t.Errorf("log: %v", log)
	}
}

func TestUsersFromFiles(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{Conf: []string{"user alice on >secret ~a* +@read", "user default on nopass ~* &* +@all -@scripting"}})
	c := s.Dial(t)
	c.Want(t, `["alice" "default"]`, "ACL", "USERS")
	c.Want(t, "+OK", "ACL", "SETUSER", "bob", "on", "nopass", "+ping")
	c.Want(t, "+OK", "CONFIG", "REWRITE")
	if status := s.Stop(t); status != 0 {
		t.Fatalf("exit status %d", status)
	}
	s.Restart(t)
	c = s.Dial(t)
	c.Want(t, `["alice" "bob" "default"]`, "ACL", "USERS")
}

// catDiffers are commands whose categories 7.2 has otherwise than 7.0, or that 7.0 does not have, by the beginning of their names.
var catDiffers = []string{
	"cluster|myshardid", "client|no-touch", "client|setinfo", "waitaof", // since 7.2
	"hexpire", "hpexpire", "httl", "hpttl", "hpersist", // since 7.4
	"hgetex", "hsetex", "hgetdel", "cluster|slot-stats", // since 8.0
}

// TestCategoriesAreThoseOfRedis: every category has the same commands, but for those that only one of the servers has.
func TestCategoriesAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	ours := testkit.Start(t, testkit.Options{}).Dial(t)
	theirs := testkit.Start(t, testkit.Options{Binary: testkit.Redis(t)}).Dial(t)
	known := set(ours.OK(t, "COMMAND", "LIST", "FILTERBY", "PATTERN", "*").Strings())
	for _, category := range ours.OK(t, "ACL", "CAT").Strings() {
		have, want := set(ours.OK(t, "ACL", "CAT", category).Strings()), set(theirs.OK(t, "ACL", "CAT", category).Strings())
		for name := range want {
			if known[name] && !have[name] {
				t.Errorf("@%s lacks %s", category, name)
			}
		}
		for name := range have {
			if !want[name] && !slices.ContainsFunc(catDiffers, func(p string) bool { return strings.HasPrefix(name, p) }) {
				t.Errorf("@%s has %s", category, name)
			}
		}
	}
}

func set(names []string) map[string]bool {
	all := make(map[string]bool)
	for _, n := range names {
		all[n] = true
	}
	return all
}
