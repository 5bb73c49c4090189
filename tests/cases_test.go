package tests

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/casefile"
	"github.com/covey-db/covey/internal/testkit/reply"
)

const (
	replyOfPending = time.Second           // how long a case that is expected to fail waits for a reply
	quietDuring    = 60 * time.Millisecond // long against a loopback round trip
)

// TestCases runs the cases of cases/*.txt, a subtest a section and below it a subtest a case.
func TestCases(t *testing.T) {
	cases, err := casefile.ReadDir("cases")
	if err != nil {
		t.Fatal(err)
	}
	testkit.SUT(t) // without it the whole test is skipped
	shared := &topologies{t: t, byName: map[string]*testkit.Topology{}, broken: map[string]error{}}
	for len(cases) > 0 {
		section := cases[0].File
		end := slices.IndexFunc(cases, func(c casefile.Case) bool { return c.File != section })
		if end < 0 {
			end = len(cases)
		}
		t.Run(section, func(t *testing.T) {
			for _, c := range cases[:end] {
				t.Run(c.ID, func(t *testing.T) { settle(t, c.ID, runCase(t, shared, c)) })
			}
		})
		cases = cases[end:]
	}
}

// topologies keeps what is dear to start for the next case: clusters. Plain servers are always fresh, so that a case may
// leave any setting behind.
type topologies struct {
	t      *testing.T // outlives the cases
	byName map[string]*testkit.Topology
	broken map[string]error // those that did not start; they are not tried again
}

func (s *topologies) take(t *testing.T, name string) (*testkit.Topology, error) {
	t.Helper()
	if !strings.HasPrefix(name, "C") {
		return startQuietly(t, name)
	}
	if s.byName[name] == nil && s.broken[name] == nil {
		s.byName[name], s.broken[name] = startQuietly(s.t, name)
	}
	return s.byName[name], s.broken[name]
}

// startQuietly starts a topology. That it does not start is a problem of the case, and its servers do not print their logs
// because a reply was wrong: checkAlive prints the log of one that died.
func startQuietly(t *testing.T, name string) (top *testkit.Topology, err error) {
	t.Helper()
	start := &trial{TB: t}
	start.attempt(func(t testing.TB) { top = testkit.StartTopology(t, name) })
	t.Cleanup(start.cleanUp)
	if len(start.problems) > 0 {
		return nil, fmt.Errorf("%s does not start: %s", name, strings.Join(start.problems, "; "))
	}
	return top, nil
}

// giveBack ends a topology that the next case could not use.
func (s *topologies) giveBack(t *testing.T, top *testkit.Topology, clean bool) {
	t.Helper()
	if s.byName[top.Name] != top {
		return
	}
	if clean && top.Reset() == nil {
		return
	}
	delete(s.byName, top.Name)
	for _, node := range top.Nodes {
		node.Kill(t)
	}
}

// player plays the steps of one case and notes what goes wrong.
type player struct {
	t        *testing.T
	top      *testkit.Topology
	c        casefile.Case
	conns    map[string]*testkit.Client
	problems []string
	within   time.Duration // that a reply may take
}

func runCase(t *testing.T, shared *topologies, c casefile.Case) []string {
	t.Helper()
	top, err := shared.take(t, c.Topology)
	if err != nil {
		return []string{err.Error()}
	}
	p := &player{t: t, top: top, c: c, conns: map[string]*testkit.Client{}, within: testkit.Patience}
	_, failures := knownFailures(t)
	if _, known := failures[c.ID]; known {
		p.within = replyOfPending
	}
	for _, step := range c.Steps {
		if err := p.play(step); err != nil {
			p.note(step, "%v", err)
			break
		}
	}
	for _, conn := range p.conns {
		conn.Close()
	}
	p.checkAlive()
	shared.giveBack(t, p.top, len(p.problems) == 0)
	return p.problems
}

func (p *player) note(step casefile.Step, format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf("%s.txt:%d: %s: %s", p.c.File, step.Line, shorten(step.Text), fmt.Sprintf(format, args...)))
}

func shorten(text string) string {
	const most = 160 // bytes of a step that a message shows
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// checkAlive makes sure that no step has hurt a node.
func (p *player) checkAlive() {
	for _, node := range p.top.Nodes {
		if v, err := node.Try("PING"); err != nil || v.Kind == reply.Error && !v.IsError("NOAUTH") && !v.IsError("NOPERM") {
			p.problems = append(p.problems, fmt.Sprintf("%s after the case: PING: %v %v\n%s", node, v, err, node.LogTail()))
			node.Kill(p.t) // so that its end is not reported again
		}
	}
}

func (p *player) play(step casefile.Step) error {
	switch step.Verb {
	case casefile.Raw:
		return p.playRaw(step)
	case casefile.Pause:
		testkit.Elapse(step.Pause)
		return nil
	case casefile.Blocked:
		return p.awaitBlocked(step)
	}
	conn, err := p.conn(step)
	if err != nil {
		return err
	}
	switch step.Verb {
	case casefile.Quiet:
		return conn.Quiet(quietDuring)
	case casefile.Closed:
		return conn.Closed(testkit.Patience)
	case casefile.Read:
		return p.expect(step, conn, step.Want)
	}
	if err := conn.Send(p.expand(step.Args)...); err != nil || step.Verb == casefile.Send {
		return err
	}
	return p.expect(step, conn, step.Want)
}

func (p *player) conn(step casefile.Step) (*testkit.Client, error) {
	name := strconv.Itoa(step.Node) + step.Conn
	if p.conns[name] != nil {
		return p.conns[name], nil
	}
	if step.Node >= len(p.top.Nodes) {
		return nil, fmt.Errorf("no node %d", step.Node)
	}
	conn, err := testkit.TryDial(p.top.Nodes[step.Node].Addr())
	if err != nil {
		return nil, err
	}
	conn.Within = p.within
	p.conns[name] = conn
	return conn, nil
}

func (p *player) expand(args []string) []string {
	expanded := make([]string, len(args))
	for i, arg := range args {
		expanded[i] = p.top.Expand(arg)
	}
	return expanded
}

// expect reads one reply. A wrong one is noted; without any the case ends.
func (p *player) expect(step casefile.Step, conn *testkit.Client, want string) error {
	pattern, err := reply.Parse(p.top.Expand(want))
	if err != nil {
		return err
	}
	v, err := conn.Read()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("no reply")
	}
	if err != nil {
		return fmt.Errorf("%w, want %s", err, want)
	}
	if !pattern.Matches(v) {
		p.note(step, "got %v, want %s", v, want)
	}
	return nil
}

func (p *player) awaitBlocked(step casefile.Step) error {
	return testkit.Poll(testkit.Patience, func() error {
		info, err := p.top.Nodes[step.Node].TryInfo("clients")
		if err == nil && info["blocked_clients"] != strconv.Itoa(step.Count) {
			err = fmt.Errorf("blocked_clients is %s", info["blocked_clients"])
		}
		return err
	})
}

// playRaw sends bytes on a fresh connection. The server may close before it has read all of them.
func (p *player) playRaw(step casefile.Step) error {
	conn, err := testkit.TryDial(p.top.Nodes[0].Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.Within = p.within
	if err := conn.SendRaw(step.Bytes); err != nil && step.End != "closed" {
		return err
	}
	for _, want := range step.Replies {
		if err := p.expect(step, conn, want); err != nil {
			return err
		}
	}
	switch step.End {
	case "open":
		return conn.Quiet(quietDuring)
	case "closed":
		return conn.Closed(testkit.Patience)
	case "ping":
		if v, err := conn.Try("PING"); err != nil || v.String() != "+PONG" {
			return fmt.Errorf("PING: %v %v", v, err)
		}
	}
	return nil
}
