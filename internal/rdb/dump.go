package rdb

import (
	"encoding/binary"
	"fmt"

	"github.com/covey-db/covey/internal/checksum"
)

// A DUMP payload is a type, a value, the RDB version in two bytes and the CRC64 of all before it in eight, little endian.

// AppendDumpFooter closes the payload that begins at start, with the version that has its type.
func AppendDumpFooter(dst []byte, start int) []byte {
	version := uint16(WriteVersion)
	if len(dst) > start && Type(dst[start]) == TypeHashTTL { // of functions there may be none
		version = fieldExpirySince
	}
	dst = binary.LittleEndian.AppendUint16(dst, version)
	return binary.LittleEndian.AppendUint64(dst, checksum.CRC64(0, dst[start:]))
}

// VerifyDump checks the end of a payload and returns what stands before it. The error is ErrDumpFooter.
func VerifyDump(payload []byte) ([]byte, error) { return verifyDump(payload, true) }

// VerifyDumpUnsummed is VerifyDump without a look at the checksum.
func VerifyDumpUnsummed(payload []byte) ([]byte, error) { return verifyDump(payload, false) }

func verifyDump(payload []byte, summed bool) ([]byte, error) {
	if len(payload) < dumpFooterSize {
		return nil, ErrDumpFooter
	}
	body := payload[:len(payload)-dumpFooterSize]
	footer := payload[len(body):]
	if binary.LittleEndian.Uint16(footer) > DumpVersionMax {
		return nil, ErrDumpFooter
	}
	if summed && checksum.CRC64(0, payload[:len(body)+2]) != binary.LittleEndian.Uint64(footer[2:]) {
		return nil, ErrDumpFooter
	}
	return body, nil
}

// IsNewerDump tells of a payload that VerifyDump has taken whether its version is above the one that is written, so that a
// Redis 7.0 would refuse it whatever is in it.
func IsNewerDump(payload []byte) bool {
	return binary.LittleEndian.Uint16(payload[len(payload)-dumpFooterSize:]) > WriteVersion
}

// DecodeValue reads what VerifyDump found: a type and a value. The error wraps ErrDumpData and the reason, or is the
// ValueBuilder's if it is not about the bytes (IsDamage).
func DecodeValue(body []byte, b ValueBuilder) error { return new(Decoder).DecodeValue(body, b) }

// DecodeValue is the function of that name with a Decoder that reads payloads only, one after the other, and keeps its memory.
// It forgets the payload and the ValueBuilder when it returns.
func (d *Decoder) DecodeValue(body []byte, b ValueBuilder) error {
	d.src, d.value = sourceOf(body), b
	err := dumpError(d.located(d.decodeOne()))
	d.src, d.value = source{}, nil
	for _, texts := range [...][][]byte{d.names, d.fields, d.pairs} {
		clear(texts)
	}
	d.trim()
	return err
}

func (d *Decoder) decodeOne() error {
	t, err := d.src.oneByte()
	if err != nil {
		return err
	}
	d.meta.Type = Type(t)
	if err := d.readValue(Type(t)); err != nil {
		return err
	}
	if err := d.ended(); err != nil {
		return err
	}
	return d.value.End()
}

// ended is an error when something stands in a payload behind what was read.
func (d *Decoder) ended() error {
	if d.file == nil && d.src.at != d.src.end {
		return ErrTrailing
	}
	return nil
}

func dumpError(err error) error {
	if err == nil || !IsDamage(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDumpData, err)
}

// DecodeFunctions reads the payload of FUNCTION DUMP and gives every library to use.
func DecodeFunctions(payload []byte, use func(code []byte) error) error {
	body, err := VerifyDump(payload)
	if err != nil {
		return err
	}
	var d Decoder
	d.src = sourceOf(body)
	for err == nil && d.src.at < d.src.end {
		err = d.readLibrary(use)
	}
	return dumpError(d.located(err))
}

func (d *Decoder) readLibrary(use func(code []byte) error) error {
	op, err := d.src.oneByte()
	if err != nil {
		return err
	}
	if op != opFunction {
		return ErrNotFunction
	}
	code, err := d.str(&d.text)
	if err != nil {
		return err
	}
	return use(code)
}
