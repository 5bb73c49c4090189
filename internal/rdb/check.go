package rdb

import (
	"bufio"
	"fmt"
	"io"
)

// CheckOptions says how much Check tells.
type CheckOptions struct {
	Keys bool // a line for every key
}

// Check reads a whole file and writes down what it finds: the fields of the file, the databases, if wanted every key with
// its offset, and at the end the totals or the place of the damage. It needs memory for one value. The error is the
// decoder's; the report names it already.
func Check(r io.Reader, report io.Writer, o CheckOptions) (Summary, error) {
	sum, _, err := CheckHead(r, report, o)
	return sum, err
}

// CheckHead is Check for a file that may be followed by something else, which it returns.
func CheckHead(r io.Reader, report io.Writer, o CheckOptions) (Summary, io.Reader, error) {
	c := &checker{d: NewDecoder(r, Options{}), out: bufio.NewWriter(report), keys: o.Keys, seen: map[string]struct{}{}}
	sum, err := c.d.Decode(c)
	if err != nil {
		fmt.Fprintf(c.out, "damaged %v\n", err)
		fmt.Fprintf(c.out, "%d keys before it are good\n", sum.Keys)
	} else {
		c.totals(sum)
	}
	if flushed := c.out.Flush(); err == nil {
		err = flushed
	}
	return sum, c.d.Rest(), err
}

// checker is the Builder behind Check.
type checker struct {
	Nop
	d      *Decoder
	out    *bufio.Writer
	keys   bool
	kind   Kind // of the key
	byKind [KindModule + 1]uint64
	seen   map[string]struct{} // members or fields of the value
	group  map[StreamID]bool   // pending entries of the group; true if somebody owns it
	owners map[string]struct{} // consumers of the group
	groups map[string]struct{} // of the stream
}

const (
	errGroupTwice    Damage = "consumer group is there twice"
	errConsumerTwice Damage = "consumer is there twice"
	errPendingTwice  Damage = "pending entry is there twice"
	errPendingOwner  Damage = "pending entry of a consumer is not the group's, or has two owners"
	errPendingOrphan Damage = "pending entry has no owner"
)

func (c *checker) line(format string, args ...any) error {
	fmt.Fprintf(c.out, "offset %d: ", c.d.Offset())
	_, err := fmt.Fprintf(c.out, format+"\n", args...)
	return err
}

func (c *checker) Header(version int) error { return c.line("RDB version %d", version) }

func (c *checker) Aux(name, value []byte) error {
	return c.line("%s = %s", shorten(name), shorten(value))
}

func (c *checker) SelectDB(db int) error { return c.line("database %d", db) }

func (c *checker) ResizeDB(keys, expires uint64) error {
	return c.line("%d keys announced, %d with an expiry", keys, expires)
}

func (c *checker) Function(code []byte) error {
	return c.line("function library of %d bytes", len(code))
}

func (c *checker) ModuleAux(m ModuleID, when uint64) error {
	return c.line("data of module %s version %d (when %d)", m.Name(), m.Version(), when)
}

func (c *checker) Key(m *Meta) error {
	c.kind, _ = kindOf(m.Type)
	if !c.keys {
		return nil
	}
	return c.line("%s %q", c.kind, shorten(m.Key))
}

func (c *checker) SetElem(v []byte) error               { return addOnce(c.seen, v, ErrDuplicate) }
func (c *checker) ZSetElem(m []byte, _ float64) error   { return addOnce(c.seen, m, ErrDuplicate) }
func (c *checker) HashField(f, _ []byte, _ int64) error { return addOnce(c.seen, f, ErrDuplicate) }

// addOnce fails if the name is known already.
func addOnce(known map[string]struct{}, name []byte, twice Damage) error {
	if _, there := known[string(name)]; there {
		return twice
	}
	known[string(name)] = struct{}{}
	return nil
}

func (c *checker) StreamStart() error {
	c.groups, c.group = map[string]struct{}{}, nil
	return nil
}

func (c *checker) StreamGroup(g StreamGroup) error {
	if err := c.endGroup(); err != nil {
		return err
	}
	c.group, c.owners = map[StreamID]bool{}, map[string]struct{}{}
	return addOnce(c.groups, g.Name, errGroupTwice)
}

func (c *checker) StreamPending(p StreamPending) error {
	if _, there := c.group[p.ID]; there {
		return errPendingTwice
	}
	c.group[p.ID] = false
	return nil
}

func (c *checker) StreamConsumer(s StreamConsumer) error {
	return addOnce(c.owners, s.Name, errConsumerTwice)
}

func (c *checker) StreamOwned(id StreamID) error {
	if owned, there := c.group[id]; !there || owned {
		return errPendingOwner
	}
	c.group[id] = true
	return nil
}

func (c *checker) endGroup() error {
	for _, owned := range c.group {
		if !owned {
			return errPendingOrphan
		}
	}
	return nil
}

func (c *checker) End() error {
	if c.kind == KindStream {
		if err := c.endGroup(); err != nil {
			return err
		}
	}
	clear(c.seen)
	c.byKind[c.kind]++
	return nil
}

func (c *checker) totals(sum Summary) {
	fmt.Fprintf(c.out, "good: %d bytes, %d keys, %d with an expiry", sum.Bytes, sum.Keys, sum.Expires)
	if sum.Empty > 0 {
		fmt.Fprintf(c.out, ", %d without elements", sum.Empty)
	}
	for kind, n := range c.byKind {
		if n > 0 {
			fmt.Fprintf(c.out, ", %d %s", n, Kind(kind))
		}
	}
	words := [...]string{"has no checksum", "was written without checksum", "checksum not looked at", "checksum is right"}
	fmt.Fprintf(c.out, "; %s\n", words[sum.Checksum])
}
