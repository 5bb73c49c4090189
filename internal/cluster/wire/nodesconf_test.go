package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/slot"
	"pgregory.net/rapid"
)

var (
	idA = strings.Repeat("a", 40)
	idB = strings.Repeat("b", 40)
	idC = strings.Repeat("c", 40)
	idS = strings.Repeat("5", 40)
)

// me is a line of the node itself, as most tests need one.
func me(slots string) string {
	return idA + " 127.0.0.1:7001@17001,,tls-port=0,shard-id=" + idS + " myself,master - 0 0 1 connected" + slots + "\n"
}

const vars = "vars currentEpoch 5 lastVoteEpoch 4\n"

func mustParseConf(t testing.TB, text string) *Conf {
	t.Helper()
	c, err := ParseConf([]byte(text), false)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return c
}

func TestConfIsWrittenAsItWasRead(t *testing.T) {
	for what, text := range map[string]string{
		"alone": me(" 0-16383") + vars,
		"slots": me(" 0 2-3 5 16383") + vars,
		"names": idA + " 10.0.0.1:7001@17001,host-1.example,tls-port=7101,nodename=first,shard-id=" + idS +
			" myself,master - 0 1700000000123 1 connected 0-5\n" + vars,
		"replica": idB + " 10.0.0.2:7002@17002,,tls-port=0,shard-id=" + idS + " slave " + idA + " 0 1700000000123 1 connected\n" +
			me(" 0-5") + vars,
		"failing": idB + " :0@0,,tls-port=0,shard-id=" + idB + " master,fail?,noaddr - 1700000000123 0 0 disconnected\n" + me("") + vars,
		"ipv6":    idB + " fe80::1%eth0:7002@17002,,tls-port=0,shard-id=" + idB + " master,fail - 0 0 3 connected 100\n" + me("") + vars,
		"open": idB + " 10.0.0.2:7002@17002,,tls-port=0,shard-id=" + idB + " master - 0 0 2 connected 9\n" +
			me(" 0-5 [3->-"+idB+"] [9-<-"+idB+"]") + vars,
		"no flags":   idB + " :0@0,,tls-port=0 noflags - 0 0 0 disconnected\n" + me("") + vars,
		"big epochs": me("") + "vars currentEpoch 18446744073709551615 lastVoteEpoch 18446744073709551614\n",
	} {
		c := mustParseConf(t, text)
		if got := string(c.Append(nil)); got != text {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, text)
		}
	}
}

func TestConfFields(t *testing.T) {
	c := mustParseConf(t, idB+" 10.0.0.2:7002@17002,host-2,tls-port=7102,nodename=two,shard-id="+idS+
		" SLAVE,Fail?,nofailover "+idA+" 11 12 13 disconnected\n"+me(" 0-99 200 [7->-"+idC+"]")+"VARS currentepoch 8 LASTVOTEEPOCH 7 later 1\n")
	b := c.Nodes[0]
	if b.ID.String() != idB || b.IP.String() != "10.0.0.2" || b.TCPPort != 7002 || b.TLSPort != 7102 || b.BusPort != 17002 ||
		b.Hostname != "host-2" || b.NodeName != "two" || b.ShardID.String() != idS || b.Primary.String() != idA ||
		b.Flags != FlagReplica|FlagPFail|FlagNoFailover || b.PingSentMillis != 11 || b.PongReceivedMillis != 12 ||
		b.ConfigEpoch != 13 || b.Connected || !b.Slots.IsEmpty() {
		t.Errorf("replica: %+v", b)
	}
	a := c.Myself()
	if a.ID.String() != idA || a.Slots.Len() != 101 || !a.Connected || len(a.Open) != 1 ||
		a.Open[0] != (OpenSlot{Slot: 7, Node: testID('c')}) {
		t.Errorf("myself: %+v", a)
	}
	if c.CurrentEpoch != 8 || c.LastVoteEpoch != 7 || !c.Disputed.IsEmpty() {
		t.Errorf("vars: %d %d, disputed %v", c.CurrentEpoch, c.LastVoteEpoch, c.Disputed.Len())
	}
	if n := c.Nodes[2]; len(c.Nodes) != 3 || n.ID.String() != idC || n.Flags != 0 || !n.IP.IsZero() {
		t.Errorf("node that is only referred to: %+v", n)
	}
}

func TestConfOfOlderVersions(t *testing.T) {
	line := func(address string) string {
		return idA + " " + address + " myself,master - 0 0 1 connected 0-5\n" + vars
	}
	for _, c := range []struct {
		address       string
		tls           bool
		tcp, tlsP, at uint16
		host          string
	}{
		{"127.0.0.1:7001", false, 7001, 0, 17001, ""},
		{"127.0.0.1:7001", true, 0, 7001, 17001, ""},
		{"127.0.0.1:7001@5", false, 7001, 0, 5, ""},
		{"127.0.0.1:7001@5", true, 0, 7001, 5, ""},
		{"127.0.0.1:7001@5,host", true, 0, 7001, 5, "host"},
		{"127.0.0.1:7001@5,host", false, 7001, 0, 5, "host"},
		{"127.0.0.1:7001@5,", false, 7001, 0, 5, ""},
		{"127.0.0.1:7001@5,,tls-port=9", true, 7001, 9, 5, ""},
		{"127.0.0.1:7001@5,,tcp-port=9", false, 9, 7001, 5, ""},
		{"127.0.0.1:7001@5,,tcp-port=9,tls-port=8", false, 9, 8, 5, ""},
		{"127.0.0.1:7001,host,nodename=", false, 7001, 0, 17001, "host"},
		{":0", false, 0, 0, 10000, ""},
		{"::1:7001@5", false, 7001, 0, 5, ""},
	} {
		conf, err := ParseConf([]byte(line(c.address)), c.tls)
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		n := conf.Nodes[0]
		if n.TCPPort != c.tcp || n.TLSPort != c.tlsP || n.BusPort != c.at || n.Hostname != c.host {
			t.Errorf("%s, TLS %v: tcp %d, tls %d, bus %d, host %q", c.address, c.tls, n.TCPPort, n.TLSPort, n.BusPort, n.Hostname)
		}
	}
	if c := mustParseConf(t, "\n\r\n"+strings.TrimSuffix(me(" 1"), "\n")+"\r\n\n"+strings.TrimSuffix(vars, "\n")); c.CurrentEpoch != 5 {
		t.Errorf("blank lines, carriage returns, no final newline: %+v", c)
	}
	if c := mustParseConf(t, me("")); c.CurrentEpoch != 1 || c.LastVoteEpoch != 0 {
		t.Errorf("without vars: epochs %d, %d", c.CurrentEpoch, c.LastVoteEpoch)
	}
}

// TestConfOfLaterVersions is public case c030: the host name is only the name.
func TestConfOfLaterVersions(t *testing.T) {
	c := mustParseConf(t, idA+" 127.0.0.1:7001@17001,host,tls-port=0,shard-id="+idS+" myself,master - 0 0 1 connected\n"+
		idB+" 127.0.0.1:7002@17002,,tls-port=0,shard-id="+idB+" master - 0 0 2 connected 5\n"+vars)
	if c.Nodes[0].Hostname != "host" || c.Nodes[1].Hostname != "" || c.Nodes[1].ShardID != testID('b') {
		t.Errorf("%+v", c.Nodes)
	}
}

func TestConfLinesAgree(t *testing.T) {
	replica := func(shard string) string {
		return idB + " 10.0.0.2:7002@17002,," + shard + " slave " + idA + " 0 0 900 connected\n"
	}
	for what, text := range map[string]string{
		"replica without shard":           replica("tls-port=0") + me("") + vars,
		"replica of another shard":        replica("shard-id="+idC) + me("") + vars,
		"replica behind its primary":      me("") + replica("shard-id="+idC) + vars,
		"replica whose epoch is not hers": me("") + replica("shard-id="+idS) + vars,
	} {
		c := mustParseConf(t, text)
		for _, n := range c.Nodes {
			if n.ShardID.String() != idS {
				t.Errorf("%s: %v is of shard %q", what, n.ID, n.ShardID)
			}
		}
		if c.CurrentEpoch != 5 {
			t.Errorf("%s: epoch %d", what, c.CurrentEpoch)
		}
	}
	c := mustParseConf(t, idB+" 10.0.0.2:7002@17002 master - 0 0 900 connected 4-6 [5->-"+idC+"]\n"+me(" 1-4 6 4")+vars)
	if c.CurrentEpoch != 900 {
		t.Errorf("epoch %d below the greatest config epoch", c.CurrentEpoch)
	}
	var both slot.Set
	both.Add(4)
	both.Add(6)
	if c.Disputed != both || c.Nodes[0].Slots.Len() != 3 || c.Nodes[1].Slots.Len() != 3 {
		t.Errorf("slots claimed twice: %d disputed, %d and %d kept", c.Disputed.Len(), c.Nodes[0].Slots.Len(), c.Nodes[1].Slots.Len())
	}
	if len(c.Nodes[0].Open) != 0 || len(c.Myself().Open) != 1 {
		t.Errorf("open slots are on the line of myself: %+v", c.Nodes)
	}
}

// damage is a file that must be refused: in which line, and a word of the reason.
type damage struct {
	text   string
	line   int
	reason string
}

func checkDamage(t *testing.T, files map[string]damage) {
	t.Helper()
	for what, c := range files {
		_, err := ParseConf([]byte(c.text), false)
		var ce *ConfError
		if !errors.As(err, &ce) || ce.Line != c.line || !strings.Contains(ce.Reason, c.reason) {
			t.Errorf("%s: error %v, want line %d with %q", what, err, c.line, c.reason)
		}
	}
}

// addressed is the line of the node itself with the given address field.
func addressed(a string) string { return idA + " " + a + " myself,master - 0 0 1 connected 0-5\n" }

// TestDamagedConf has the public cases c034a to c034o.
func TestDamagedConf(t *testing.T) {
	checkDamage(t, map[string]damage{
		"c034a slot 16384":        {me(" 0-5 16384"), 1, "slot"},
		"c034c one word":          {me("") + "word\n", 2, "fewer than 8 fields"},
		"c034d address, no port":  {addressed("127.0.0.1"), 1, "address without port"},
		"c034e unknown flag":      {strings.Replace(me(""), "master", "captain", 1), 1, "flag"},
		"c034h binary":            {me("") + "\x00\x01\xff\xfe \x80 \x90 1 2 3 4 5 6\n", 2, "node id"},
		"c034h binary, all of it": {"\x00\x01\xff\xfe\x80\x90", 1, "fewer"},
		"c034j odd vars":          {me("") + "\nvars currentEpoch\n", 3, "vars"},
		"c034k open slot 99999":   {me(" [99999->-" + idB + "]"), 1, "open slot"},
	})
	// c034g: a name in the vars line that is not known is skipped.
	if c := mustParseConf(t, me("")+"vars currentEpoch 7 color blue\n"); c.CurrentEpoch != 7 {
		t.Errorf("c034g: epoch %d", c.CurrentEpoch)
	}
	// c034o: an empty file is a node that never ran.
	if c := mustParseConf(t, ""); c.Myself() != nil || len(c.Nodes) != 0 {
		t.Errorf("c034o: %+v", c)
	}
}

func TestDamagedAddressField(t *testing.T) {
	checkDamage(t, map[string]damage{
		"short id":                 {me("")[1:], 1, "node id"},
		"upper case id":            {strings.ToUpper(idA) + me("")[40:], 1, "node id"},
		"empty port":               {addressed("127.0.0.1:@17001"), 1, "port"},
		"port with letters":        {addressed("127.0.0.1:70x1@17001"), 1, "port"},
		"port too high":            {addressed("127.0.0.1:65536@17001"), 1, "port"},
		"negative port":            {addressed("127.0.0.1:-1@17001"), 1, "port"},
		"empty bus port":           {addressed("127.0.0.1:7001@"), 1, "bus port"},
		"bus port too high":        {addressed("127.0.0.1:7001@65536"), 1, "bus port"},
		"no room for the bus port": {addressed("127.0.0.1:60000"), 1, "bus port"},
		"address too long":         {addressed(strings.Repeat("1", 46) + ":7001@17001"), 1, "invalid address"},
		"address with junk":        {addressed("127.0.0.1;x:7001@17001"), 1, "invalid address"},
		"host name with junk":      {addressed("127.0.0.1:7001@17001,a/b"), 1, "host name"},
		"aux without value":        {addressed("127.0.0.1:7001@17001,,shard-id"), 1, "aux"},
		"aux with two values":      {addressed("127.0.0.1:7001@17001,,nodename=a=b"), 1, "aux"},
		"aux left empty":           {addressed("127.0.0.1:7001@17001,,"), 1, "aux"},
		"aux nobody knows":         {addressed("127.0.0.1:7001@17001,,zone=a"), 1, "unknown aux"},
		"aux in upper case":        {addressed("127.0.0.1:7001@17001,,TLS-PORT=1"), 1, "unknown aux"},
		"shard id too short":       {addressed("127.0.0.1:7001@17001,,shard-id=abc"), 1, "shard-id"},
		"node name with junk":      {addressed("127.0.0.1:7001@17001,,nodename=a$"), 1, "nodename"},
		"aux port too high":        {addressed("127.0.0.1:7001@17001,,tls-port=65536"), 1, "tls-port"},
		"aux port empty":           {addressed("127.0.0.1:7001@17001,,tcp-port="), 1, "tcp-port"},
	})
}

func TestDamagedFields(t *testing.T) {
	checkDamage(t, map[string]damage{
		"seven fields":             {idA + " 127.0.0.1:1@2 myself,master - 0 0 1\n", 1, "fewer"},
		"only blank lines":         {"\n\n", 0, "myself"},
		"nobody is myself":         {strings.Replace(me(""), "myself,", "", 1) + vars, 0, "myself"},
		"two are myself":           {me("") + strings.Replace(me(""), idA, idB, 1), 2, "myself"},
		"two lines of a node":      {me("") + strings.Replace(me(""), "myself,", "", 1), 2, "second line"},
		"empty flag":               {strings.Replace(me(""), "master", "", 1), 1, "flag"},
		"primary that is no id":    {strings.Replace(me(""), " - ", " abc ", 1), 1, "primary"},
		"primary beginning with -": {strings.Replace(me(""), " - ", " -- ", 1), 1, "primary"},
		"ping time":                {strings.Replace(me(""), " - 0", " - x", 1), 1, "ping"},
		"pong time":                {strings.Replace(me(""), " - 0 0", " - 0 x", 1), 1, "pong"},
		"config epoch":             {strings.Replace(me(""), " 1 connected", " -1 connected", 1), 1, "epoch"},
		"link state cut":           {strings.Replace(me(""), " connected", " conn", 1), 1, "link"},
		"negative slot":            {me(" -5"), 1, "slot"},
		"range to nowhere":         {me(" 5-"), 1, "slot"},
		"range of three":           {me(" 1-2-3"), 1, "slot"},
		"range backwards":          {me(" 5-3"), 1, "slot"},
		"range too far":            {me(" 0-16384"), 1, "slot"},
		"slot with letters":        {me(" 5x"), 1, "slot"},
		"slot of 70000":            {me(" 70000"), 1, "slot"},
		"open slot, nothing else":  {me(" ["), 1, "open slot"},
		"open slot without end":    {me(" [5->-" + idB), 1, "open slot"},
		"open slot without arrow":  {me(" [5]"), 1, "open slot"},
		"open slot, odd arrow":     {me(" [5-=-" + idB + "]"), 1, "open slot"},
		"open slot, short arrow":   {me(" [5->" + idB + "]"), 1, "open slot"},
		"open slot, short id":      {me(" [5->-" + idB[1:] + "]"), 1, "open slot"},
		"open slot, upper case":    {me(" [5-<-" + strings.ToUpper(idB) + "]"), 1, "open slot"},
		"open slot, no number":     {me(" [-<-" + idB + "]"), 1, "open slot"},
		"epoch in vars":            {me("") + "vars currentEpoch x\n", 2, "epoch"},
		"negative epoch in vars":   {me("") + "vars lastVoteEpoch -1\n", 2, "epoch"},
		"epoch above 64 bit":       {me("") + "vars lastVoteEpoch 18446744073709551616\n", 2, "epoch"},
	})
}

func TestConfErrorText(t *testing.T) {
	_, err := ParseConf([]byte("\n"+strings.Repeat("x", 200)), false)
	if want := `line 2: fewer than 8 fields: "` + strings.Repeat("x", confTextMax) + `"`; err.Error() != want {
		t.Errorf("%v", err)
	}
	_, err = ParseConf([]byte(vars), false)
	if want := "no line is flagged myself"; err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestCutConf is public case c034m: a file cut anywhere in its first line is refused, or has the ids it had.
func TestCutConf(t *testing.T) {
	text := me(" 0-5460 [5->-" + idB + "]")
	for cut := 1; cut < len(text); cut++ {
		c, err := ParseConf([]byte(text[:cut]), false)
		var ce *ConfError
		if err != nil && !errors.As(err, &ce) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if err == nil && (c.Myself() == nil || c.Myself().ID.String() != idA || c.Myself().ShardID.String() != idS) {
			t.Errorf("cut at %d: %+v", cut, c)
		}
	}
}

func TestClientForms(t *testing.T) {
	c := mustParseConf(t, me(" 0-5")+idB+" 10.0.0.2:7002@17002,host-2,tls-port=7102,nodename=two,shard-id="+idS+
		" slave,handshake "+idA+" 11 12 13 disconnected\n"+vars)
	for _, w := range []struct {
		form Form
		node int
		text string
	}{
		{FormClient, 0, idA + " 127.0.0.1:7001@17001 myself,master - 0 0 1 connected 0-5"},
		{FormClientTLS, 0, idA + " 127.0.0.1:0@17001 myself,master - 0 0 1 connected 0-5"},
		{FormClient, 1, idB + " 10.0.0.2:7002@17002,host-2 slave,handshake " + idA + " 11 12 13 disconnected"},
		{FormClientTLS, 1, idB + " 10.0.0.2:7102@17002,host-2 slave,handshake " + idA + " 11 12 13 disconnected"},
	} {
		if got := string(c.Nodes[w.node].Append(nil, w.form)); got != w.text {
			t.Errorf("%q, want %q", got, w.text)
		}
	}
	if got := string(c.Append(nil)); got != me(" 0-5")+vars {
		t.Errorf("a node in handshake is stored:\n%s", got)
	}
}

// TestFilesOfRedis loads files that redis-server wrote (live_test.go says how) and writes them again.
func TestFilesOfRedis(t *testing.T) {
	files, err := filepath.Glob("testdata/nodesconf/*.conf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkRedisConf(t, string(data))
	}
}

// checkRedisConf checks that a file of a redis-server comes out of parser and writer as it went in. Versions before 7.2
// wrote no aux fields: their lines are those that clients get.
func checkRedisConf(t *testing.T, text string) {
	t.Helper()
	c := mustParseConf(t, text)
	got := string(c.Append(nil))
	if !strings.Contains(text, auxTLSPort+"=") {
		got = ""
		for i := range c.Nodes {
			got += string(c.Nodes[i].Append(nil, FormClient)) + "\n"
		}
		got += string(AppendVars(nil, c.CurrentEpoch, c.LastVoteEpoch))
	}
	if got != text {
		t.Errorf("written\n%s\nread\n%s", got, text)
	}
}

func rapidConf(t *rapid.T) *Conf {
	p := rapidPacket(t) // a source of ids and addresses
	c := &Conf{CurrentEpoch: p.CurrentEpoch, LastVoteEpoch: p.ConfigEpoch}
	count := rapid.IntRange(1, 6).Draw(t, "nodes")
	for i := range count {
		n := NodeLine{
			ID: testID("0123456789"[i]), IP: p.IP, TCPPort: p.Port, TLSPort: p.SecondPort, BusPort: p.BusPort,
			Hostname: rapid.StringMatching(`[0-9a-zA-Z._-]{0,255}`).Draw(t, "hostname"),
			NodeName: rapid.StringMatching(`[0-9a-zA-Z._/é-]{0,100}`).Draw(t, "nodename"),
			ShardID:  testID('f'), Connected: rapid.Bool().Draw(t, "connected"),
			PingSentMillis: rapid.Int64().Draw(t, "ping"), PongReceivedMillis: rapid.Int64().Draw(t, "pong"),
			ConfigEpoch: Epoch(rapid.Uint64Range(0, uint64(c.CurrentEpoch)).Draw(t, "epoch")), Flags: FlagPrimary,
		}
		if i == 0 {
			n.Flags |= FlagMyself
			n.Open = []OpenSlot{{Slot: 3, Node: testID("0123456789"[count-1])}, {Slot: 9, Importing: true, Node: n.ID}}
		} else if rapid.Bool().Draw(t, "replica") {
			n.Flags, n.Primary = FlagReplica|FlagNoAddr, testID('0')
		}
		for s := i; s < slot.Count; s += rapid.IntRange(1, 40).Draw(t, "gap") * count {
			n.Slots.Add(slot.ID(s))
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

func TestAnyConfIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapidConf(t).Append(nil))
		c, err := ParseConf([]byte(text), false)
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, text)
		}
		if got := string(c.Append(nil)); got != text {
			t.Fatalf("\n%s\nwant\n%s", got, text)
		}
	})
}

// FuzzParseConf checks that any file is refused or means the same after it was written again.
func FuzzParseConf(f *testing.F) {
	f.Add(me(" 0-5 [3->-"+idB+"]")+vars, false)
	f.Add(idA+" :0@0,h,tls-port=1,tcp-port=2,nodename=x myself,slave "+idB+" 1 2 3 disconnected 4\n"+vars, true)
	f.Add(idA+" ::1:7000 myself - 1 2 3 connected", true)
	f.Fuzz(func(t *testing.T, text string, tlsCluster bool) {
		c, err := ParseConf([]byte(text), tlsCluster)
		if err != nil || c.Myself() == nil || c.Myself().Flags.Has(FlagHandshake) {
			return
		}
		once := c.Append(nil)
		again, err := ParseConf(once, tlsCluster)
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, once)
		}
		stored := 0
		for i := range c.Nodes {
			if !c.Nodes[i].Flags.Has(FlagHandshake) {
				stored++
			}
		}
		if twice := again.Append(nil); string(twice) != string(once) && stored == len(c.Nodes) {
			t.Fatalf("\n%s\nthen\n%s", once, twice)
		}
	})
}
