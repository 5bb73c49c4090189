package wire

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/slot"
)

// This file reads nodes.conf. It takes every file that Redis 3 to 7.2 has written, and refuses more than Redis does of
// what no version ever wrote: numbers that are no numbers, ranges that run backwards, a node with two lines.

// ParseConf reads the content of a nodes.conf. Empty data is an empty Conf: the node has never run. tlsCluster says what
// the port is in a file so old that it has only one. The error is a *ConfError.
//
// Beyond the single lines the result obeys these rules: exactly one node is myself; a node that is only referred to has
// a line too, without address and flags; open slots are on the line of myself; a replica has the shard id of its
// primary; CurrentEpoch is no less than the ConfigEpoch of a primary.
func ParseConf(data []byte, tlsCluster bool) (*Conf, error) {
	r := confReader{conf: &Conf{}, tlsCluster: tlsCluster, index: map[NodeID]int{}, myself: -1}
	if len(data) == 0 {
		return r.conf, nil
	}
	for line := 1; len(data) > 0; line++ {
		var text []byte
		text, data, _ = bytes.Cut(data, []byte{'\n'})
		if err := r.readLine(string(text)); err != nil {
			return nil, &ConfError{Line: line, Reason: err.Error(), Text: string(text[:min(len(text), confTextMax)])}
		}
	}
	if r.myself < 0 {
		return nil, &ConfError{Reason: "no line is flagged myself"}
	}
	r.finish()
	return r.conf, nil
}

// confTextMax is how much of a line an error repeats, in bytes: enough for id, address and flags of most lines.
const confTextMax = 120

// confReader is a file half read.
type confReader struct {
	conf       *Conf
	tlsCluster bool
	index      map[NodeID]int // place in conf.Nodes of each node with a line
	myself     int            // place of the line of this node, -1 before it is known
	taken      slot.Set       // slots that a line has claimed
	open       []OpenSlot     // open slots, on whichever line they were
}

// The fields of a line, before the slots.
const (
	fieldID = iota
	fieldAddress
	fieldFlags
	fieldPrimary
	fieldPingSent
	fieldPongReceived
	fieldConfigEpoch
	fieldLink
	fieldSlots
)

func (r *confReader) readLine(text string) error {
	words := strings.FieldsFunc(text, isBlank)
	switch {
	case len(words) == 0:
		return nil
	case strings.EqualFold(words[0], "vars"):
		return r.readVars(words[1:])
	case len(words) < fieldSlots:
		return errors.New("fewer than 8 fields")
	}
	n := NodeLine{}
	if err := r.readNode(&n, words); err != nil {
		return err
	}
	if _, twice := r.index[n.ID]; twice {
		return errors.New("second line of a node")
	}
	if n.Flags.Has(FlagMyself) {
		if r.myself >= 0 {
			return errors.New("second line that is flagged myself")
		}
		r.myself = len(r.conf.Nodes)
	}
	r.index[n.ID] = len(r.conf.Nodes)
	r.conf.Nodes = append(r.conf.Nodes, n)
	return nil
}

func isBlank(c rune) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// readVars takes name and value pairs; names of other versions are skipped.
func (r *confReader) readVars(words []string) error {
	if len(words)%2 != 0 {
		return errors.New("vars line with a name without value")
	}
	for i := 0; i < len(words); i += 2 {
		var to *Epoch
		switch {
		case strings.EqualFold(words[i], "currentEpoch"):
			to = &r.conf.CurrentEpoch
		case strings.EqualFold(words[i], "lastVoteEpoch"):
			to = &r.conf.LastVoteEpoch
		default:
			continue
		}
		v, err := strconv.ParseUint(words[i+1], 10, 64)
		if err != nil {
			return errors.New("invalid epoch")
		}
		*to = Epoch(v)
	}
	return nil
}

func (r *confReader) readNode(n *NodeLine, words []string) (err error) {
	var ok bool
	if n.ID, ok = ParseNodeID(words[fieldID]); !ok {
		return errors.New("invalid node id")
	}
	if err := r.readAddress(n, words[fieldAddress]); err != nil {
		return err
	}
	if n.Flags, ok = parseNodeFlags(words[fieldFlags]); !ok {
		return errors.New("unknown node flag")
	}
	if words[fieldPrimary] != "-" {
		if n.Primary, ok = ParseNodeID(words[fieldPrimary]); !ok {
			return errors.New("invalid node id of the primary")
		}
	}
	if n.PingSentMillis, err = strconv.ParseInt(words[fieldPingSent], 10, 64); err != nil {
		return errors.New("invalid ping time")
	}
	if n.PongReceivedMillis, err = strconv.ParseInt(words[fieldPongReceived], 10, 64); err != nil {
		return errors.New("invalid pong time")
	}
	epoch, err := strconv.ParseUint(words[fieldConfigEpoch], 10, 64)
	if err != nil {
		return errors.New("invalid config epoch")
	}
	n.ConfigEpoch = Epoch(epoch)
	if n.Connected = words[fieldLink] == "connected"; !n.Connected && words[fieldLink] != "disconnected" {
		return errors.New("link is neither connected nor disconnected")
	}
	return r.readSlots(n, words[fieldSlots:])
}

// parseNodeFlags reads comma-separated flag names.
func parseNodeFlags(text string) (f NodeFlags, ok bool) {
	for name := range strings.SplitSeq(text, ",") {
		flag, known := flagOf(name)
		if !known {
			return 0, false
		}
		f |= flag
	}
	return f, true
}

func flagOf(name string) (f NodeFlags, known bool) {
	for _, n := range flagNames {
		if strings.EqualFold(name, n.name) {
			return n.flag, true
		}
	}
	return 0, strings.EqualFold(name, "noflags")
}

// readAddress reads ip:port[@busport][,hostname[,aux=value]...].
func (r *confReader) readAddress(n *NodeLine, text string) error {
	address, rest, more := strings.Cut(text, ",")
	if more {
		n.Hostname, rest, more = strings.Cut(rest, ",")
		if n.Hostname != "" && !IsHostname(n.Hostname) {
			return errors.New("invalid host name")
		}
	}
	var aux auxPorts
	for more {
		var field string
		field, rest, more = strings.Cut(rest, ",")
		if err := n.readAux(field, &aux); err != nil {
			return err
		}
	}
	colon := strings.LastIndexByte(address, ':')
	if colon < 0 {
		return errors.New("address without port")
	}
	var ok bool
	if n.IP, ok = ParseHost(address[:colon]); !ok {
		return errors.New("invalid address")
	}
	return r.readPorts(n, address[colon+1:], aux)
}

// auxPorts says which client ports were among the aux fields of a line.
type auxPorts struct{ tcp, tls bool }

// readAux reads one aux field. Which there are is fixed: a file of a version that has others is refused, as in Redis.
func (n *NodeLine) readAux(field string, ports *auxPorts) error {
	name, value, found := strings.Cut(field, "=")
	if !found || strings.Contains(value, "=") {
		return errors.New("invalid aux field")
	}
	ok := false
	switch name {
	case auxShardID:
		n.ShardID, ok = ParseNodeID(value)
	case auxNodeName:
		n.NodeName, ok = value, value == "" || IsNodeName(value)
	case auxTCPPort:
		n.TCPPort, ok = parsePort(value)
		ports.tcp = true
	case auxTLSPort:
		n.TLSPort, ok = parsePort(value)
		ports.tls = true
	default:
		return errors.New("unknown aux field")
	}
	if !ok {
		return errors.New("invalid value of aux field " + name)
	}
	return nil
}

// readPorts reads port[@busport]. The main port is the one that is not among the aux fields.
func (r *confReader) readPorts(n *NodeLine, text string, aux auxPorts) error {
	main, bus, hasBus := strings.Cut(text, "@")
	port, ok := parsePort(main)
	if !ok {
		return errors.New("invalid port")
	}
	switch {
	case !aux.tcp && !aux.tls && r.tlsCluster:
		n.TLSPort = port
	case !aux.tcp:
		n.TCPPort = port
	case !aux.tls:
		n.TLSPort = port
	}
	if hasBus {
		n.BusPort, ok = parsePort(bus)
	} else {
		n.BusPort, ok = r.defaultBusPort(n)
	}
	if !ok {
		return errors.New("invalid bus port")
	}
	return nil
}

// defaultBusPort is the bus port on a line of a version that did not write it.
func (r *confReader) defaultBusPort(n *NodeLine) (port uint16, ok bool) {
	port = n.TCPPort
	if r.tlsCluster {
		port = n.TLSPort
	}
	return port + busPortOffset, port < 1<<16-busPortOffset
}

func parsePort(text string) (port uint16, ok bool) {
	v, err := strconv.ParseUint(text, 10, 16)
	return uint16(v), err == nil
}

// readSlots reads slots, ranges and open slots.
func (r *confReader) readSlots(n *NodeLine, words []string) error {
	for _, word := range words {
		if word[0] == '[' {
			o, ok := parseOpenSlot(word)
			if !ok {
				return errors.New("invalid open slot")
			}
			r.open = append(r.open, o)
			continue
		}
		first, last, ok := parseSlotRange(word)
		if !ok {
			return errors.New("invalid slot or slot range")
		}
		for s := first; s <= last; s++ {
			r.claim(n, s)
		}
	}
	return nil
}

// claim gives a slot to n unless an earlier line has it.
func (r *confReader) claim(n *NodeLine, s slot.ID) {
	switch {
	case !r.taken.Has(s):
		r.taken.Add(s)
		n.Slots.Add(s)
	case !n.Slots.Has(s):
		r.conf.Disputed.Add(s)
	}
}

func parseSlotRange(text string) (first, last slot.ID, ok bool) {
	from, to, isRange := strings.Cut(text, "-")
	if first, ok = parseSlot(from); !ok {
		return 0, 0, false
	}
	last = first
	if isRange {
		last, ok = parseSlot(to)
	}
	return first, last, ok && first <= last
}

func parseSlot(text string) (slot.ID, bool) {
	v, err := strconv.ParseUint(text, 10, 16)
	return slot.ID(v), err == nil && v < slot.Count
}

// parseOpenSlot reads [slot->-node] or [slot-<-node].
func parseOpenSlot(text string) (o OpenSlot, ok bool) {
	text, ok = strings.CutSuffix(text[1:], "]")
	number, rest, found := strings.Cut(text, "-")
	if !ok || !found || len(rest) != len(">-")+NodeIDLen || rest[1] != '-' {
		return OpenSlot{}, false
	}
	o.Importing = rest[0] == '<'
	if !o.Importing && rest[0] != '>' {
		return OpenSlot{}, false
	}
	if o.Slot, ok = parseSlot(number); !ok {
		return OpenSlot{}, false
	}
	o.Node, ok = ParseNodeID(rest[2:])
	return o, ok
}

// finish brings the lines in order with each other, as ParseConf promises.
func (r *confReader) finish() {
	r.conf.Nodes[r.myself].Open = r.open
	known := len(r.conf.Nodes)
	for i := range known {
		r.refer(r.conf.Nodes[i].Primary)
	}
	for _, o := range r.open {
		r.refer(o.Node)
	}
	for i := range known {
		n := &r.conf.Nodes[i]
		if n.Primary.IsZero() || !n.Flags.Has(FlagReplica) {
			r.conf.CurrentEpoch = max(r.conf.CurrentEpoch, n.ConfigEpoch)
		}
		if n.Primary.IsZero() {
			continue
		}
		if p := &r.conf.Nodes[r.index[n.Primary]]; !p.ShardID.IsZero() {
			n.ShardID = p.ShardID
		}
	}
}

// refer makes sure that a node that another line names has a line.
func (r *confReader) refer(id NodeID) {
	if _, known := r.index[id]; known || id.IsZero() {
		return
	}
	r.index[id] = len(r.conf.Nodes)
	r.conf.Nodes = append(r.conf.Nodes, NodeLine{ID: id})
}
