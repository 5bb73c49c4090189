package core

import (
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the CLUSTER commands about nodes; command_slots.go has those about slots. The texts are Redis's.

const (
	replyOK          = "OK"
	errSyntax        = "ERR syntax error"
	errNotInteger    = "ERR value is not an integer or out of range"
	errUnknownNode   = "ERR Unknown node "
	errNotPrimary    = "ERR Target node is not a master"
	busPortOffset    = 10000 // from the client port to the bus port, where MEET names none
	portMax          = 65535
	unknownNameShown = 128 // bytes of an unknown subcommand that the error repeats
)

// onCommand runs a command and queues its answer.
func (c *Core) onCommand(e Command) {
	r := Reply{Kind: Status, Text: replyOK}
	if failure := c.run(e.Args, e.Keys, &r); failure != "" {
		r = Reply{Kind: Failure, Text: failure}
	}
	r.Request = e.Request
	c.reply(r)
}

// run runs one command. It gives the text of an error, or "" and fills r if the answer is another than OK.
func (c *Core) run(args [][]byte, keys KeyCounts, r *Reply) string {
	if len(args) == 0 {
		return errSyntax
	}
	name := strings.ToLower(string(args[0]))
	switch n := len(args); {
	case name == "meet" && (n == 3 || n == 4):
		return c.cmdMeet(args)
	case name == "forget" && n == 2:
		return c.cmdForget(args[1])
	case name == "replicate" && n == 2:
		return c.cmdReplicate(args[1], keys)
	case name == "failover" && n <= 2:
		return c.cmdFailover(args[1:])
	case name == "reset" && n <= 2:
		return c.cmdReset(args[1:], keys)
	case name == "bumpepoch" && n == 1:
		return c.cmdBumpEpoch(r)
	case name == "set-config-epoch" && n == 2:
		return c.cmdSetConfigEpoch(args[1])
	case name == "count-failure-reports" && n == 2:
		return c.cmdCountFailureReports(args[1], r)
	case name == "saveconfig" && n == 1:
		c.save(saveSynced)
		return ""
	}
	return c.runSlots(name, args, keys)
}

// findNode looks a node up by the text of its name. The error is unknown and the text.
func (c *Core) findNode(text []byte, unknown string) (*node, string) {
	if id, ok := wire.ParseNodeID(text); ok {
		if n := c.lookup(id); n != nil {
			return n, ""
		}
	}
	return nil, unknown + string(text)
}

// cmdMeet: MEET ip port [bus-port].
func (c *Core) cmdMeet(args [][]byte) string {
	port, ok := num.ParseInt(args[2])
	if !ok {
		return "ERR Invalid base port specified: " + string(args[2])
	}
	busPort := port + busPortOffset
	if len(args) == 4 {
		if busPort, ok = num.ParseInt(args[3]); !ok {
			return "ERR Invalid bus port specified: " + string(args[3])
		}
	}
	host, ok := parseIP(args[1])
	if !ok || port <= 0 || port > portMax || busPort <= 0 || busPort > portMax {
		return "ERR Invalid node address specified: " + string(args[1]) + ":" + string(args[2])
	}
	c.startHandshake(Address{Host: host, Port: uint16(port), BusPort: uint16(busPort)}, 0, wire.FlagMeet)
	return ""
}

// cmdForget: FORGET id. A node that is forgotten already, perhaps because another node was told first, is no error.
func (c *Core) cmdForget(id []byte) string {
	n, failure := c.findNode(id, errUnknownNode)
	switch {
	case n == nil:
		if parsed, ok := wire.ParseNodeID(id); ok && c.isForgotten(parsed) {
			return ""
		}
		return failure
	case n == c.me:
		return "ERR I tried hard but I can't forget myself..."
	case c.me.primary == n:
		return "ERR Can't forget my master!"
	}
	c.forget(n, c.now+forgottenFor)
	c.save(saveHeld)
	return ""
}

// cmdReplicate: REPLICATE id.
func (c *Core) cmdReplicate(id []byte, keys KeyCounts) string {
	n, failure := c.findNode(id, errUnknownNode)
	switch {
	case n == nil:
		return failure
	case n == c.me:
		return "ERR Can't replicate myself"
	case n.isReplica() || n.inHandshake():
		return "ERR I can only replicate a master, not a replica."
	case c.me.isPrimary() && (c.me.owned > 0 || keys.Keys() > 0):
		return "ERR To set a master the node must be empty and without assigned slots."
	}
	c.follow(n)
	c.save(saveHeld)
	c.pongAll(anyNode) // it would take the others up to half the node timeout to ask for themselves
	return ""
}

// cmdFailover: FAILOVER [FORCE|TAKEOVER].
func (c *Core) cmdFailover(args [][]byte) string {
	force, takeover := false, false
	if len(args) == 1 {
		switch strings.ToLower(string(args[0])) {
		case "force":
			force = true
		case "takeover":
			force, takeover = true, true
		default:
			return errSyntax
		}
	}
	p := c.me.primary
	switch {
	case c.me.isPrimary():
		return "ERR You should send CLUSTER FAILOVER to a replica"
	case p == nil:
		return "ERR I'm a replica but my master is unknown to me"
	case !force && (p.hasFailed() || p.path() == nil):
		return "ERR Master is down or failed, please use CLUSTER FAILOVER FORCE"
	}
	c.resetManual()
	if !c.election.sent {
		c.election = election{}
	}
	if takeover {
		c.log(Info, "taking over by command, without a vote")
		c.bumpEpoch()
		c.lead()
		return ""
	}
	c.manual = manual{end: c.now + manualTimeout, canStart: force}
	if force {
		c.todo.election = true
	} else {
		c.send(p.path(), c.newPacket(wire.TypeFailoverMe))
	}
	c.logNode(Info, "failover ordered by command", p)
	return ""
}

// cmdReset: RESET [HARD|SOFT].
func (c *Core) cmdReset(args [][]byte, keys KeyCounts) string {
	hard := false
	if len(args) == 1 {
		switch strings.ToLower(string(args[0])) {
		case "hard":
			hard = true
		case "soft":
		default:
			return errSyntax
		}
	}
	if c.me.isPrimary() && keys.Keys() > 0 {
		return "ERR CLUSTER RESET can't be called with master nodes containing keys"
	}
	c.reset(hard)
	return ""
}

// reset forgets everything but this node; a hard one also who this node is.
func (c *Core) reset(hard bool) {
	me := c.me
	c.resetManual()
	c.election = election{}
	if me.isReplica() {
		c.makePrimary(me)
		c.out.local = append(c.out.local, Flush{})
		me.shard = c.rng.nodeID() // it is in the shard of its former primary no more
	}
	c.closeMoves()
	for s := range slot.ID(slot.Count) {
		c.setOwner(s, nil)
	}
	for i := len(c.nodes) - 1; i >= 0; i-- {
		if n := c.nodes[i]; n != me {
			c.dropNode(n)
		}
	}
	c.forgotten = nil
	if hard {
		c.currentEpoch, c.lastVote, me.configEpoch, c.electedIn = 0, 0, 0, 0
		c.renameNode(me, c.freshID())
		me.shard = c.rng.nodeID()
	}
	me.flags &^= wire.FlagMigrateTo
	c.repl = replication{Offset: c.repl.Offset, data: dataOfShard}
	c.logNode(Info, "node reset", me)
	c.save(saveSynced)
	c.todo.state = true
	c.out.routes = true
}

// cmdBumpEpoch: BUMPEPOCH.
func (c *Core) cmdBumpEpoch(r *Reply) string {
	word := "STILL "
	if c.bumpEpoch() {
		word = "BUMPED "
	}
	r.Text = word + strconv.FormatUint(uint64(c.me.configEpoch), 10)
	return ""
}

// cmdSetConfigEpoch: SET-CONFIG-EPOCH epoch. Only a node that is all by itself takes one: the tool that makes a cluster
// gives each node its own.
func (c *Core) cmdSetConfigEpoch(text []byte) string {
	epoch, ok := num.ParseInt(text)
	switch {
	case !ok:
		return errNotInteger
	case epoch < 0:
		return "ERR Invalid config epoch specified: " + strconv.FormatInt(epoch, 10)
	case len(c.nodes) > 1:
		return "ERR The user can assign a config epoch only when the node does not know any other node."
	case c.me.configEpoch != 0:
		return "ERR Node config epoch is already non-zero"
	}
	c.currentEpoch = max(c.currentEpoch, wire.Epoch(epoch))
	c.setEpoch(wire.Epoch(epoch))
	c.todo.state = true
	return ""
}

// cmdCountFailureReports: COUNT-FAILURE-REPORTS id.
func (c *Core) cmdCountFailureReports(id []byte, r *Reply) string {
	n, failure := c.findNode(id, errUnknownNode)
	if n == nil {
		return failure
	}
	r.Kind, r.Number = Integer, int64(c.reportCount(n))
	return ""
}

// errUsage is the answer to a subcommand that is not known or has a wrong number of arguments.
func errUsage(name []byte) string {
	return "ERR unknown subcommand or wrong number of arguments for '" + string(name[:min(len(name), unknownNameShown)]) +
		"'. Try CLUSTER HELP."
}
