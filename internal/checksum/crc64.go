// Package checksum holds the CRC64 that closes RDB files and DUMP payloads, and the LZF compression inside them. Both agree
// bit for bit with what Redis writes.
package checksum

import "encoding/binary"

// jonesReflected is the Jones polynomial 0xad93d23594c935a9 with its bits in reverse order: the checksum takes the lowest
// bit of every byte first.
const jonesReflected = 0x95ac9329ac4bc9b5

// crcLanes is the number of bytes that one step of the fast loop takes, and the number of tables it needs (16 KB in all).
const crcLanes = 8

// crcTables[lane][b] is what byte b adds to the checksum when lane more bytes follow it. Never written after start.
var crcTables = makeCRCTables()

func makeCRCTables() *[crcLanes][256]uint64 {
	t := new([crcLanes][256]uint64)
	for b := range t[0] {
		crc := uint64(b)
		for range 8 {
			crc = crc>>1 ^ jonesReflected&-(crc&1)
		}
		t[0][b] = crc
	}
	for lane := 1; lane < crcLanes; lane++ {
		for b := range t[lane] {
			before := t[lane-1][b]
			t[lane][b] = before>>8 ^ t[0][byte(before)]
		}
	}
	return t
}

// CRC64 continues the checksum crc over b; a sum starts at 0. The sum of a text in pieces is the sum of the whole.
func CRC64(crc uint64, b []byte) uint64 {
	t := crcTables
	for len(b) >= crcLanes {
		x := crc ^ binary.LittleEndian.Uint64(b)
		crc = t[7][byte(x)] ^ t[6][byte(x>>8)] ^ t[5][byte(x>>16)] ^ t[4][byte(x>>24)] ^
			t[3][byte(x>>32)] ^ t[2][byte(x>>40)] ^ t[1][byte(x>>48)] ^ t[0][byte(x>>56)]
		b = b[crcLanes:]
	}
	for _, c := range b {
		crc = crc>>8 ^ t[0][byte(crc)^c]
	}
	return crc
}
