package rdb

// A Builder makes a keyspace of what a Decoder reads. Its methods are called in the order of the file; an error stops the
// decoder, which returns it with the offset.
//
// All slices point into memory of the decoder and live until the method returns, except Meta.Key, which lives until End.
type Builder interface {
	// Header comes first.
	Header(version int) error
	// Aux is a field about the file, such as redis-ver or repl-id. Unknown ones are to be ignored.
	Aux(name, value []byte) error
	// SelectDB tells the database of the keys that follow; it is 0 before the first call.
	SelectDB(db int) error
	// ResizeDB tells how many keys the database will have. It is a hint from the file, not to be trusted with memory.
	ResizeDB(keys, expires uint64) error
	// Function is the source of a function library.
	Function(code []byte) error
	// ModuleAux is data of a module that belongs to no key; nil skips it.
	ModuleAux(m ModuleID, when uint64) error
	// Key opens a key; its value and End follow. A key that is there twice is for the Builder to refuse. Keys without
	// elements, which old servers could write, are skipped.
	Key(m *Meta) error
	ValueBuilder
}

// A ValueBuilder makes one value, in one of these sequences:
//
//	String or Int                                              a string
//	ListStart (Packed | ListElem)...                           a list; Packed is a run of elements
//	Packed                                                     a small set, zset or hash that Packed took
//	SetStart SetElem...
//	ZSetStart ZSetElem...
//	HashStart HashField...
//	StreamStart (StreamNode StreamEntry...)... StreamMeta      a stream; entries of nodes that StreamNode did not take
//	  (StreamGroup StreamPending... (StreamConsumer StreamOwned...)...)...
//	Module
//
// each closed by End. String, Int and a Packed set, zset or hash come when their input was read and checked to its end.
// Elements come in the order of the file. A count is the file's claim, not to be trusted with memory.
// An element that is there twice is for the ValueBuilder to refuse (with ErrDuplicate), as it must look it up anyway.
type ValueBuilder interface {
	String(v []byte) error
	// Int is a string that is the text of a 32-bit number.
	Int(v int64) error
	// Packed offers a checked compact value as it is. If it is not taken, its elements follow one by one.
	Packed(p Packed) (taken bool, err error)
	ListStart(count uint64) error
	ListElem(v []byte) error
	SetStart(count uint64) error
	SetElem(v []byte) error
	ZSetStart(count uint64) error
	ZSetElem(member []byte, score float64) error
	HashStart(count uint64) error
	// HashField has an expiry (Unix milliseconds, 0 = none) only in files of version 12.
	HashField(field, value []byte, expireAt int64) error
	StreamStart() error
	// StreamNode offers a checked node as it is. If it is not taken, its entries follow one by one.
	StreamNode(n *StreamNode) (taken bool, err error)
	// StreamEntry is one entry: field, value, field, value...
	StreamEntry(id StreamID, pairs [][]byte) error
	StreamMeta(m StreamMeta) error
	StreamGroup(g StreamGroup) error
	// StreamPending is an entry that some consumer of the group has not acknowledged.
	StreamPending(p StreamPending) error
	// StreamConsumer is a consumer of the group.
	StreamConsumer(c StreamConsumer) error
	// StreamOwned tells that the consumer owns a pending entry of the group. It must be one of StreamPending's, without
	// an owner so far; the ValueBuilder refuses it otherwise, and refuses a group with entries nobody owns.
	StreamOwned(id StreamID) error
	// Module is the value of a module type; nil skips it, so that the key has no value.
	Module(m ModuleID) error
	// End closes the value.
	End() error
}

// Meta is what a file tells about a key.
type Meta struct {
	Key      []byte // lives until End
	DB       int    // index of the database
	ExpireAt int64  // Unix milliseconds; 0 = never, and a time before 1970 is given as 1
	Idle     int64  // seconds since the last use; -1 = not told
	Freq     int    // counter of uses; -1 = not told
	Type     Type   // how the value is written
}

// Form is the layout of a compact value.
type Form uint8

// The forms that are offered; older ones are turned into a listpack first.
const (
	Listpack Form = iota
	Intset
)

// Packed is a compact value that has been checked: every element, and that no member or field is there twice. In a
// listpack, text of a number is a number. A zset is in order of scores, then members.
type Packed struct {
	Kind    Kind   // list, set, zset or hash
	Form    Form   // its layout
	Bytes   []byte // the value
	Count   int    // elements, members or fields
	Longest int    // length of the longest element (score and value included) as text
}

// StreamNode is a run of entries in one listpack that has been checked.
type StreamNode struct {
	Master  StreamID // what the entries' IDs are relative to
	Bytes   []byte   // the listpack
	Live    int      // entries
	Deleted int      // entries marked as deleted
	First   StreamID // the first entry; zero if none is live
	Last    StreamID // the last entry; zero if none is live
}

// StreamMeta is what a stream knows about itself.
type StreamMeta struct {
	Length       uint64   // entries, counted
	FirstID      StreamID // first entry, zero if there is none
	LastID       StreamID // the greatest ID ever used
	MaxDeleted   StreamID // the greatest ID ever deleted
	EntriesAdded uint64   // entries ever added
}

// StreamGroup is a consumer group.
type StreamGroup struct {
	Name        []byte   // its name
	LastID      StreamID // the last entry delivered
	EntriesRead int64    // entries delivered so far; -1 = unknown
}

// StreamPending is an entry that was delivered and not acknowledged.
type StreamPending struct {
	ID          StreamID // the entry
	DeliveredAt int64    // Unix milliseconds
	Deliveries  uint64   // how many times
}

// StreamConsumer is a consumer of a group.
type StreamConsumer struct {
	Name     []byte // its name
	SeenAt   int64  // last attempt to read, Unix milliseconds
	ActiveAt int64  // last successful read; -1 = never
}

// ModuleID names the type of a module's value.
type ModuleID uint64

const (
	moduleAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	moduleNameLen  = 9
	moduleVersions = 1 << 10
)

// Name is the nine letters of the type.
func (m ModuleID) Name() string {
	var name [moduleNameLen]byte
	letters := uint64(m) / moduleVersions
	for i := len(name) - 1; i >= 0; i-- {
		name[i] = moduleAlphabet[letters%64]
		letters /= 64
	}
	return string(name[:])
}

// Version is the version of the type's encoding.
func (m ModuleID) Version() int { return int(m % moduleVersions) }

// Nop is a Builder that takes everything and keeps nothing. Embed it to implement only what matters.
type Nop struct{}

var _ Builder = Nop{}

func (Nop) Header(int) error                     { return nil }
func (Nop) Aux(_, _ []byte) error                { return nil }
func (Nop) SelectDB(int) error                   { return nil }
func (Nop) ResizeDB(_, _ uint64) error           { return nil }
func (Nop) Function([]byte) error                { return nil }
func (Nop) ModuleAux(ModuleID, uint64) error     { return nil }
func (Nop) Key(*Meta) error                      { return nil }
func (Nop) String([]byte) error                  { return nil }
func (Nop) Int(int64) error                      { return nil }
func (Nop) Packed(Packed) (bool, error)          { return true, nil }
func (Nop) ListStart(uint64) error               { return nil }
func (Nop) ListElem([]byte) error                { return nil }
func (Nop) SetStart(uint64) error                { return nil }
func (Nop) SetElem([]byte) error                 { return nil }
func (Nop) ZSetStart(uint64) error               { return nil }
func (Nop) ZSetElem([]byte, float64) error       { return nil }
func (Nop) HashStart(uint64) error               { return nil }
func (Nop) HashField(_, _ []byte, _ int64) error { return nil }
func (Nop) StreamStart() error                   { return nil }
func (Nop) StreamNode(*StreamNode) (bool, error) { return true, nil }
func (Nop) StreamEntry(StreamID, [][]byte) error { return nil }
func (Nop) StreamMeta(StreamMeta) error          { return nil }
func (Nop) StreamGroup(StreamGroup) error        { return nil }
func (Nop) StreamPending(StreamPending) error    { return nil }
func (Nop) StreamConsumer(StreamConsumer) error  { return nil }
func (Nop) StreamOwned(StreamID) error           { return nil }
func (Nop) Module(ModuleID) error                { return nil }
func (Nop) End() error                           { return nil }
