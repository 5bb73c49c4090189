// Package slot maps keys to the 16384 hash slots of a cluster and holds sets of slots.
package slot

import "bytes"

// Count is the number of hash slots of a cluster.
const Count = 16384

// ID is the number of a slot, below Count.
type ID uint16

// xmodemPoly is the polynomial x^16 + x^12 + x^5 + 1, the highest bit first, that the cluster specification names (CRC16
// XMODEM: start value 0, nothing reflected, nothing added at the end).
const xmodemPoly = 0x1021

// crcLanes is the number of bytes that one step of the fast loop takes, and the number of tables it needs (4 KB in all).
const crcLanes = 8

// crcTables[lane][b] is what byte b adds to the checksum when lane more bytes follow it. Never written after start.
var crcTables = makeCRCTables()

func makeCRCTables() (t [crcLanes][256]uint16) {
	for b := range t[0] {
		crc := uint16(b) << 8
		for range 8 {
			crc = crc<<1 ^ xmodemPoly&-(crc>>15)
		}
		t[0][b] = crc
	}
	for lane := 1; lane < crcLanes; lane++ {
		for b := range t[lane] {
			before := t[lane-1][b]
			t[lane][b] = before<<8 ^ t[0][before>>8]
		}
	}
	return t
}

// CRC16 is the checksum of the cluster specification (spec: keys distribution model, appendix A).
func CRC16(b []byte) uint16 {
	t := &crcTables
	var crc uint16
	for len(b) >= crcLanes {
		crc = t[7][b[0]^byte(crc>>8)] ^ t[6][b[1]^byte(crc)] ^ t[5][b[2]] ^ t[4][b[3]] ^
			t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
		b = b[crcLanes:]
	}
	for _, c := range b {
		crc = crc<<8 ^ t[0][byte(crc>>8)^c]
	}
	return crc
}

// Of is the slot of a key. When the key holds a '{' and the first '}' behind it is not its neighbour, only the bytes
// between the two are hashed, so that keys with the same tag share a slot (spec: hash tags).
func Of(key []byte) ID {
	return ID(CRC16(hashed(key)) & (Count - 1))
}

// hashed is the part of a key that decides its slot.
func hashed(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	tag := key[open+1:]
	if end := bytes.IndexByte(tag, '}'); end > 0 {
		return tag[:end]
	}
	return key
}
