package rdb

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/rdb/packed"
)

const benchKeys = 1_000_000

// smallStrings writes a file of n keys of 16 bytes with values of 32, in pieces of 64 KB.
func smallStrings(w io.Writer, lzf *checksum.LZF, n uint64) (int64, error) {
	out := NewWriter(w, false)
	piece := AppendResizeDB(AppendSelectDB(AppendHeader(make([]byte, 0, 80<<10), Header{}), 0), n, 0)
	key := []byte("key:000000000000")
	value := []byte("value-0123456789-abcdefghi-00000")
	for i := range n {
		for at, left := len(key)-1, i; left > 0; at, left = at-1, left/10 {
			key[at], value[at+16] = byte('0'+left%10), byte('a'+left%10)
		}
		piece = AppendType(piece, TypeString)
		piece = AppendString(piece, key, lzf)
		piece = AppendString(piece, value, lzf)
		if len(piece) >= 64<<10 {
			if _, err := out.Write(piece); err != nil {
				return 0, err
			}
			piece = piece[:0]
		}
	}
	if _, err := out.Write(piece); err != nil {
		return 0, err
	}
	return out.Size(), out.Finish()
}

func BenchmarkEncodeSmallStrings(b *testing.B) {
	for name, lzf := range map[string]*checksum.LZF{"plain": nil, "lzf": new(checksum.LZF)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				size, err := smallStrings(io.Discard, lzf, benchKeys)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(size)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/key")
		})
	}
}

func BenchmarkDecodeSmallStrings(b *testing.B) {
	for name, lzf := range map[string]*checksum.LZF{"plain": nil, "lzf": new(checksum.LZF)} {
		b.Run(name, func(b *testing.B) {
			var file bytes.Buffer
			if _, err := smallStrings(&file, lzf, benchKeys); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				sum, err := NewDecoder(bytes.NewReader(file.Bytes()), Options{}).Decode(&Nop{})
				if err != nil || sum.Keys != benchKeys {
					b.Fatal(sum, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/key")
		})
	}
}

func BenchmarkDecodeSmallHashes(b *testing.B) {
	lp := packed.AppendListpackHead(nil)
	for i := range 10 {
		lp = packed.AppendListpackString(lp, fmt.Append(nil, "field", i))
		lp = packed.AppendListpackString(lp, fmt.Append(nil, "value", i*1000))
	}
	lp = packed.FinishListpack(lp, 0, 20)
	content := ""
	for i := range 10000 {
		content += kept(TypeHashListpack, fmt.Sprint("hash", i), blob(lp))
	}
	file := fileOf(10, content)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewDecoder(bytes.NewReader(file), Options{}).Decode(&Nop{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/key")
}

func BenchmarkDumpString(b *testing.B) {
	lzf := new(checksum.LZF)
	for name, value := range map[string]string{"number": "12345", "32B": "value-0123456789-abcdefghi-00000"} {
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendDumpFooter(AppendString(AppendType(dst[:0], TypeString), []byte(value), lzf), 0)
			}
		})
	}
}

// The path of strings allocates nothing per key, in either direction.
func TestStringPathAllocatesNothingPerKey(t *testing.T) {
	const keys = 50_000
	var file bytes.Buffer
	file.Grow(8 << 20)
	lzf := new(checksum.LZF)
	encode := testing.AllocsPerRun(1, func() {
		file.Reset()
		if _, err := smallStrings(&file, lzf, keys); err != nil {
			t.Fatal(err)
		}
	})
	decode := testing.AllocsPerRun(1, func() {
		if _, err := NewDecoder(bytes.NewReader(file.Bytes()), Options{}).Decode(&Nop{}); err != nil {
			t.Fatal(err)
		}
	})
	if encode > 30 || decode > 30 {
		t.Errorf("%v allocations to write 50,000 keys, %v to read them", encode, decode)
	}
}
