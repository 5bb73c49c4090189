package rdb

import (
	"bytes"
	"io"
)

// Options of a Decoder.
type Options struct {
	OnEmpty   func(key []byte) // called for each key that is skipped because it has no elements; may be nil
	Unsummed  bool             // do not verify the checksum (rdbchecksum no)
	StringMax uint64           // a longer string is damage; 0 = no limit
}

// Checksum tells what is known about the checksum of a file.
type Checksum uint8

// The outcomes for a file that was decoded to its end. A wrong checksum is an error.
const (
	ChecksumAbsent   Checksum = iota // a version before 5
	ChecksumDisabled                 // the writer had checksums off
	ChecksumIgnored                  // Options.Unsummed
	ChecksumRight
)

// Summary is what Decode found.
type Summary struct {
	Version  int      // of the file
	Keys     uint64   // keys given to the Builder
	Expires  uint64   // of these, keys with an expiry
	Empty    uint64   // keys without elements, which were skipped
	Bytes    int64    // size of the file
	Checksum Checksum // what is known about it
}

// Decoder reads one RDB file or one payload. It belongs to one goroutine.
type Decoder struct {
	src     source
	opts    Options
	file    Builder      // nil while a DUMP payload is read
	value   ValueBuilder // gets the value
	summary Summary
	meta    Meta
	opened  bool // Key has been called for meta
	reading bool // meta.Key is the key being read

	// Memory that is used again, given back by trim when a big value made it big.
	key     []byte // the key
	name    []byte // a field, a member or a name, while its value is read
	text    []byte // a string that did not fit in the buffer or was stored in another form
	squeeze []byte // a compressed string
	repack  []byte // an old compact value as a listpack
	digits  []byte // text of numbers
	names   [][]byte
	fields  [][]byte
	pairs   [][]byte
}

// NewDecoder returns a Decoder for a file.
func NewDecoder(r io.Reader, opts Options) *Decoder {
	return &Decoder{src: newSource(r, opts.Unsummed), opts: opts}
}

// Offset is the number of bytes read so far.
func (d *Decoder) Offset() int64 { return d.src.offset() }

// Rest reads what follows the file, such as the commands behind the base of an append-only file. It is called after Decode.
func (d *Decoder) Rest() io.Reader { return d.src.rest() }

// Decode reads a file from its first byte to its checksum. An error is always an *Error.
func (d *Decoder) Decode(b Builder) (Summary, error) {
	d.file, d.value = b, b
	err := d.decodeFile()
	d.summary.Bytes = d.src.offset()
	return d.summary, d.located(err)
}

// located tells where an error happened.
func (d *Decoder) located(err error) error {
	if err == nil {
		return nil
	}
	at := &Error{Offset: d.src.offset(), Type: d.meta.Type, Err: err}
	if d.reading {
		at.Key, at.DB = bytes.Clone(d.meta.Key), d.meta.DB
	}
	return at
}

func (d *Decoder) decodeFile() error {
	if err := d.readHeader(); err != nil {
		return err
	}
	d.resetMeta()
	for {
		op, err := d.src.oneByte()
		if err != nil {
			return err
		}
		if op == opEOF {
			return d.readChecksum()
		}
		if op >= opSlotInfo {
			err = d.readOperation(op)
		} else {
			err = d.readKey(Type(op))
		}
		if err != nil {
			return err
		}
	}
}

func (d *Decoder) readHeader() error {
	head, err := d.src.need(headerBytes)
	if err != nil {
		return err
	}
	if string(head[:len(magic)]) != magic {
		return ErrMagic
	}
	version := 0
	for _, c := range head[len(magic):] {
		if c < '0' || c > '9' {
			return ErrVersion
		}
		version = version*10 + int(c-'0')
	}
	if version < 1 || version > ReadVersionMax {
		return ErrVersion
	}
	d.summary.Version = version
	return d.file.Header(version)
}

// readChecksum reads what follows the last key.
func (d *Decoder) readChecksum() error {
	if d.summary.Version < checksumSince {
		return nil
	}
	want := d.src.checksum()
	got, err := d.uint64LE()
	switch {
	case err != nil:
		return err
	case d.opts.Unsummed:
		d.summary.Checksum = ChecksumIgnored
	case got == 0:
		d.summary.Checksum = ChecksumDisabled
	case got != want:
		return ErrChecksum
	default:
		d.summary.Checksum = ChecksumRight
	}
	return nil
}

// readOperation reads anything that is not a key.
func (d *Decoder) readOperation(op byte) error {
	switch op {
	case opExpireMs, opExpire, opIdle, opFreq:
		return d.readAttribute(op)
	case opSelectDB:
		return d.readSelectDB()
	case opResizeDB:
		return d.readTwoLengths(d.file.ResizeDB)
	case opSlotInfo:
		return d.readSlotInfo()
	case opAux:
		return d.readAux()
	case opFunction:
		code, err := d.str(&d.text)
		if err != nil {
			return err
		}
		return d.file.Function(code)
	case opModuleAux:
		return d.readModuleAux()
	}
	return ErrPreGA
}

// readAttribute reads what a file tells about the next key.
func (d *Decoder) readAttribute(op byte) error {
	switch op {
	case opExpireMs:
		at, err := d.uint64LE()
		d.setExpiry(int64(at))
		return err
	case opExpire:
		at, err := d.uint32LE()
		d.setExpiry(int64(int32(at)) * secondsToMs)
		return err
	case opIdle:
		idle, err := d.length()
		d.meta.Idle = int64(min(idle, 1<<62))
		return err
	}
	freq, err := d.src.oneByte()
	d.meta.Freq = int(freq)
	return err
}

// setExpiry keeps an expiry; -1 is how Redis says that there is none.
func (d *Decoder) setExpiry(at int64) {
	switch {
	case at > 0:
		d.meta.ExpireAt = at
	case at == -1:
		d.meta.ExpireAt = 0
	default:
		d.meta.ExpireAt = 1
	}
}

func (d *Decoder) resetMeta() {
	d.meta.Key, d.meta.ExpireAt, d.meta.Idle, d.meta.Freq = nil, 0, -1, -1
	d.opened, d.reading = false, false
}

const databaseMax = 1 << 31 // indexes above are damage, whatever the configuration allows

func (d *Decoder) readSelectDB() error {
	db, err := d.length()
	if err != nil {
		return err
	}
	if db >= databaseMax {
		return ErrLength
	}
	d.meta.DB = int(db)
	return d.file.SelectDB(int(db))
}

func (d *Decoder) readTwoLengths(use func(a, b uint64) error) error {
	a, err := d.length()
	if err != nil {
		return err
	}
	b, err := d.length()
	if err != nil {
		return err
	}
	return use(a, b)
}

// readSlotInfo skips the sizes of a slot, a hint that Redis 7.4 gives in cluster mode.
func (d *Decoder) readSlotInfo() error {
	if _, err := d.length(); err != nil {
		return err
	}
	return d.readTwoLengths(func(_, _ uint64) error { return nil })
}

func (d *Decoder) readAux() error {
	name, err := d.keep(&d.name)
	if err != nil {
		return err
	}
	value, err := d.str(&d.text)
	if err != nil {
		return err
	}
	return d.file.Aux(name, value)
}

// readKey reads a key and its value.
func (d *Decoder) readKey(t Type) error {
	if _, ok := kindOf(t); !ok {
		return ErrType
	}
	key, err := d.keep(&d.key)
	if err != nil {
		return err
	}
	d.meta.Key, d.meta.Type = key, t
	d.reading = true
	err = d.readValue(t)
	switch {
	case err == ErrEmpty && !d.opened:
		d.summary.Empty++
		if d.opts.OnEmpty != nil {
			d.opts.OnEmpty(key)
		}
	case err != nil:
		return err
	default:
		if err := d.value.End(); err != nil {
			return err
		}
		d.summary.Keys++
		if d.meta.ExpireAt != 0 {
			d.summary.Expires++
		}
	}
	d.resetMeta()
	d.trim()
	return nil
}

// open gives the key to the Builder, once it is sure that the value has elements.
func (d *Decoder) open() error {
	if d.file == nil || d.opened {
		return nil
	}
	d.opened = true
	return d.file.Key(&d.meta)
}

// openWhole opens a value that has been read to its end: nothing wrong can be found any more.
func (d *Decoder) openWhole() error {
	if err := d.ended(); err != nil {
		return err
	}
	return d.open()
}

// trim gives memory back that one big value made grow.
func (d *Decoder) trim() {
	for _, b := range [...]*[]byte{&d.key, &d.name, &d.text, &d.squeeze, &d.repack, &d.digits} {
		if cap(*b) > keepScratch {
			*b = nil
		}
	}
	for _, b := range [...]*[][]byte{&d.names, &d.fields, &d.pairs} {
		if cap(*b) > keepScratch/32 {
			*b = nil
		}
	}
}
