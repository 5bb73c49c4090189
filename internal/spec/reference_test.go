package spec

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/testkit"
)

// The tests in this file compare the table with a Redis server: the program that COVEY_REDIS_SERVER names, or the redis-server
// in the path. Texts apart, the table has to agree with 7.2 and, but for the differences that testdata lists, with 7.0.

// server is a Redis server of our own and one connection to it.
type server struct {
	version string // "7.2"
	conn    net.Conn
	in      *bufio.Reader
}

// startServer starts a server on a free loopback port and stops it when the test ends.
func startServer(t *testing.T) *server {
	t.Helper()
	program := os.Getenv("COVEY_REDIS_SERVER")
	if program == "" {
		program = "redis-server"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		giveUp(t, err.Error())
	}
	port := strconv.Itoa(testkit.FreePort(t))
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	log := bufio.NewScanner(out)
	for ready := false; !ready; {
		if !log.Scan() {
			t.Fatalf("%s ended before it was ready", path)
		}
		ready = strings.Contains(log.Text(), "Ready to accept connections")
	}
	go io.Copy(io.Discard, out) // ends when the server does
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &server{conn: conn, in: bufio.NewReader(conn)}
	_, version, _ := strings.Cut(s.call(t, "INFO", "server").text, "redis_version:")
	s.version = strings.Join(strings.SplitN(version, ".", 3)[:2], ".")
	if _, err := os.Stat(s.testdata()); err != nil {
		giveUp(t, "nothing is known about Redis "+s.version)
	}
	return s
}

// giveUp skips the test, so that it is seen; where tests have to be complete it fails.
func giveUp(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("cannot compare with Redis: %s", why)
	}
	t.Skipf("SKIPPED, nothing is compared with Redis: %s", why)
}

// testdata is the file that lists how the server's version differs from the table.
func (s *server) testdata() string { return "testdata/redis-" + s.version + ".txt" }

func (s *server) call(t *testing.T, args ...string) reply {
	t.Helper()
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := s.conn.Write(out); err != nil {
		t.Fatal(err)
	}
	answer, err := readReply(s.in)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// reply is a reply of either protocol version, with its type byte. A map has its keys and values in items.
type reply struct {
	kind  byte
	text  string
	items []reply
}

func readReply(in *bufio.Reader) (reply, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return reply{}, err
	}
	r := reply{kind: head[0], text: strings.TrimSuffix(head[1:], "\r\n")}
	switch r.kind {
	case '+', '-', ':', '_':
		return r, nil
	}
	n, err := strconv.Atoi(r.text)
	if err != nil {
		return r, fmt.Errorf("%q: %w", head, err)
	}
	switch r.kind {
	case '$', '=':
		body := make([]byte, n+2)
		if _, err := io.ReadFull(in, body); err != nil {
			return r, err
		}
		r.text = string(body[:n])
		return r, nil
	case '%':
		n *= 2
	}
	for range n {
		item, err := readReply(in)
		if err != nil {
			return r, err
		}
		r.items = append(r.items, item)
	}
	r.text = ""
	return r, nil
}

func decode(t *testing.T, encoded []byte) reply {
	t.Helper()
	in := bufio.NewReader(strings.NewReader(string(encoded)))
	r, err := readReply(in)
	if err != nil {
		t.Fatal(err)
	}
	if in.Buffered() > 0 {
		t.Fatalf("%d bytes follow the reply", in.Buffered())
	}
	return r
}

// splitRows splits a reply into the rows it describes: commands and, apart from them, their subcommands. entries are the entries
// of COMMAND, or the names and documents of COMMAND DOCS.
func splitRows(entries []reply, out map[string][]string) {
	for i := 0; i < len(entries); i++ {
		name, entry := entries[i], entries[i]
		if len(entry.items) == infoFields { // of COMMAND
			name = entry.items[0]
			splitRows(entry.items[infoFields-1].items, out)
		} else {
			i++
			entry = entries[i]
			for j := 0; j < len(entry.items); j += 2 {
				if entry.items[j].text == "subcommands" {
					splitRows(entry.items[j+1].items, out)
				}
			}
		}
		out[name.text] = entry.flatten(name.text, nil)
	}
}

// flatten lists the leaves of a reply, each with its path. Of texts that are ours only the presence counts. Subcommands are left
// out: they are rows of their own.
func (r reply) flatten(path string, out []string) []string {
	if len(r.items) == 0 {
		return append(out, fmt.Sprintf("%s %c%s", path, r.kind, r.text))
	}
	isEntry := len(r.items) == infoFields && r.items[1].kind == ':'
	isMap := r.kind == '%' || !isEntry && isPairs(r.items)
	for i, item := range r.items {
		at := fmt.Sprintf("%s%c", path, r.kind)
		switch {
		case isEntry:
			at = path + " " + entryFields[i]
		case isMap && i%2 == 0:
			continue
		case isMap:
			at = fmt.Sprintf("%s%c%s", path, r.kind, r.items[i-1].text)
		case item.kind != '+' && !strings.HasSuffix(path, "history") && !strings.HasSuffix(path, "tips"):
			at += strconv.Itoa(i)
		}
		if i > 0 && isMap && slices.Contains(ownTexts, r.items[i-1].text) || isChange(r.items) && i == 1 {
			item.text = "..."
		}
		if isEntry && i == infoFields-1 || i > 0 && isMap && r.items[i-1].text == "subcommands" {
			item.items, item.text = nil, ""
		}
		out = item.flatten(at, out)
	}
	return out
}

var (
	entryFields = []string{
		"name", "arity", "flags", "first", "last", "step", "categories", "tips", "specs", "subcommands",
	}
	ownTexts = []string{"summary", "complexity", "replaced_by", "notes"}
	mapKeys  = []string{"summary", "name", "flags", "notes", "type", "index", "keyword", "lastkey", "keynumidx"}
)

// isPairs says whether an array is a map as RESP2 shows it.
func isPairs(items []reply) bool {
	return len(items)%2 == 0 && items[0].kind == '$' && slices.Contains(mapKeys, items[0].text)
}

// isChange says whether an array is an entry of a history.
func isChange(items []reply) bool {
	return len(items) == 2 && items[0].kind == '$' && strings.Count(items[0].text, ".") == 2
}

// compareRows returns the rows, or the leaves of rows, that only one side has: theirs with a minus and ours with a plus.
func compareRows(theirs, ours map[string][]string) []string {
	var out []string
	for name, leaves := range ours {
		if their, ok := theirs[name]; ok {
			out = append(out, differences(their, leaves)...)
		} else {
			out = append(out, "+"+name)
		}
	}
	for name := range theirs {
		if _, ok := ours[name]; !ok {
			out = append(out, "-"+name)
		}
	}
	return out
}

// differences compares two lists as sets: what only theirs has gets a minus, what only ours has a plus.
func differences(theirs, ours []string) []string {
	slices.Sort(theirs)
	slices.Sort(ours)
	var out []string
	for len(theirs) > 0 || len(ours) > 0 {
		switch {
		case len(ours) == 0 || len(theirs) > 0 && theirs[0] < ours[0]:
			out = append(out, "-"+theirs[0])
			theirs = theirs[1:]
		case len(theirs) == 0 || ours[0] < theirs[0]:
			out = append(out, "+"+ours[0])
			ours = ours[1:]
		default:
			theirs, ours = theirs[1:], ours[1:]
		}
	}
	return out
}

// known returns the lines of a section of what testdata says about the server's version.
func (s *server) known(t *testing.T, section string) []string {
	t.Helper()
	text, err := os.ReadFile(s.testdata())
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := bytes.Cut(text, []byte("["+section+"]\n"))
	if !ok {
		t.Fatalf("testdata says nothing about %s", section)
	}
	text, _, _ = bytes.Cut(text, []byte("\n["))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" || line[0] == '#' })
}

// expect reports differences that testdata does not list, and listed ones that are not there.
func (s *server) expect(t *testing.T, section string, got []string) {
	t.Helper()
	for _, diff := range differences(s.known(t, section), slices.Clone(got)) {
		t.Errorf("%s, redis %s: %s", section, s.version, diff)
	}
}

// tableFor is the table without the rows that the server's version does not have.
func tableFor(t *testing.T, s *server) *Table {
	newer := s.known(t, "rows we have")
	return load(t).Restrict(func(r *Row) bool { return !slices.Contains(newer, r.Full) })
}

var versions = []resp.Version{resp.RESP2, resp.RESP3}

func (s *server) hello(t *testing.T, v resp.Version) {
	t.Helper()
	s.call(t, "HELLO", strconv.Itoa(int(v)))
}

func TestReferenceInfo(t *testing.T) {
	s := startServer(t)
	table := tableFor(t, s)
	for _, v := range versions {
		s.hello(t, v)
		theirs, ours := make(map[string][]string), make(map[string][]string)
		splitRows(s.call(t, "COMMAND").items, theirs)
		encoded := resp.AppendArray(nil, len(table.Rows()))
		for _, row := range table.Rows() {
			encoded = AppendInfo(encoded, v, row)
		}
		splitRows(decode(t, encoded).items, ours)
		s.expect(t, "info", plainKinds(compareRows(theirs, ours)))
	}
}

func TestReferenceDocs(t *testing.T) {
	s := startServer(t)
	table := tableFor(t, s)
	for _, v := range versions {
		s.hello(t, v)
		theirs, ours := make(map[string][]string), make(map[string][]string)
		splitRows(s.call(t, "COMMAND", "DOCS").items, theirs)
		encoded := resp.AppendMap(nil, v, len(table.Rows()))
		for _, row := range table.Rows() {
			encoded = resp.AppendBulkString(encoded, row.Full)
			encoded = AppendDocs(encoded, v, row)
		}
		splitRows(decode(t, encoded).items, ours)
		diffs := plainKinds(compareRows(theirs, ours))
		if s.version == "7.0" { // it describes many arguments in another way
			diffs = slices.DeleteFunc(diffs, func(diff string) bool { return strings.Contains(diff, "arguments") })
		}
		s.expect(t, "docs", diffs)
	}
}

// plainKinds writes sets and maps as arrays, so that one list of differences serves both protocol versions.
func plainKinds(diffs []string) []string {
	for i, diff := range diffs {
		diffs[i] = strings.NewReplacer("~", "*", "%", "*").Replace(diff)
	}
	return diffs
}

func TestReferenceCategories(t *testing.T) {
	s := startServer(t)
	table := tableFor(t, s)
	var names, diffs []string
	for _, category := range s.call(t, "ACL", "CAT").items {
		names = append(names, category.text)
	}
	if !slices.Equal(names, CategoryNames()) {
		t.Errorf("ACL CAT names %v", names)
	}
	for i, name := range names {
		var theirs, ours []string
		for _, item := range s.call(t, "ACL", "CAT", name).items {
			theirs = append(theirs, item.text)
		}
		for row := range table.All() {
			if row.Categories&(1<<i) != 0 {
				ours = append(ours, row.Full)
			}
		}
		for _, diff := range differences(theirs, ours) {
			diffs = append(diffs, fmt.Sprintf("%c%s %s", diff[0], name, diff[1:]))
		}
	}
	s.expect(t, "categories", diffs)
}

func TestReferenceKeys(t *testing.T) {
	s := startServer(t)
	table := tableFor(t, s)
	for _, v := range versions {
		s.hello(t, v)
		var diffs []string
		for _, test := range keyCases {
			if theirs := s.keys(t, line(test.words)); theirs != test.want {
				diffs = append(diffs, test.words+" => "+theirs)
			}
		}
		s.expect(t, "keys", diffs)
	}
	s.hello(t, resp.RESP2)
	wrong := s.known(t, "wrong keys")
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for row := range table.All() {
		for range randomLinesPerRow {
			args := randomLine(rnd, row)
			if s.version == "7.0" && len(args) == 1 { // it asks for two
				continue
			}
			refs, err := table.GetKeys(args, nil)
			ours, theirs := describeKeys(args, refs, err), s.keys(t, args)
			if ours != theirs && !slices.Contains(wrong, row.Full) {
				t.Errorf("%q: %s, redis %s: %s (seed %d)", args, ours, s.version, theirs, seed)
			}
		}
	}
}

// keys asks the server for the keys of a command line, in the form of describeKeys.
func (s *server) keys(t *testing.T, args [][]byte) string {
	t.Helper()
	call := []string{"COMMAND", "GETKEYSANDFLAGS"}
	for _, arg := range args {
		call = append(call, string(arg))
	}
	r := s.call(t, call...)
	if r.kind == '-' {
		return strings.TrimPrefix(r.text, "ERR ")
	}
	var out []string
	for _, item := range r.items {
		var flags []string
		for _, flag := range item.items[1].items {
			flags = append(flags, flag.text)
		}
		out = append(out, item.items[0].text+":"+strings.Join(flags, " "))
	}
	return strings.Join(out, ",")
}

const (
	randomLinesPerRow  = 40
	randomArgsMax      = 9
	randomKeyNumberMax = 4
)

// randomWords are the arguments of random command lines: what finders and key specs look for, and keys.
var randomWords = []string{
	"a", "b", "c", "", "0", "1", "2", "3", "02", "+1", "-1", "2x", " 2", "get", "GET", "by", "limit", "store", "STORE",
	"storedist", "keys", "KEYS", "auth", "auth2", "copy", "streams", "STREAMS", "count", "block", "group", "noack", "set", "incrby", "overflow", "u8", "sat",
}

// randomLine makes a command line for a row, nearly always one that satisfies its arity.
func randomLine(rnd *rand.Rand, row *Row) [][]byte {
	args := line(strings.ReplaceAll(row.Full, "|", " "))
	n := row.Arity
	if n < 0 {
		n = -n + rnd.IntN(randomArgsMax)
	}
	n = max(n-rnd.IntN(8)/7, len(args)) // one in eight is too short
	for len(args) < n {
		word := randomWords[rnd.IntN(len(randomWords))]
		if rnd.IntN(2) == 0 {
			word = strconv.Itoa(rnd.IntN(randomKeyNumberMax))
		}
		args = append(args, []byte(word))
	}
	return args
}
