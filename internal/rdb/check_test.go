package rdb

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/rdb/packed"
)

func checkText(file []byte, keys bool) (string, error) {
	var report bytes.Buffer
	_, err := Check(bytes.NewReader(file), &report, CheckOptions{Keys: keys})
	return report.String(), err
}

func TestCheckOfAGoodFile(t *testing.T) {
	file, err := os.ReadFile("testdata/old_forms.rdb")
	if err != nil {
		t.Fatal(err)
	}
	text, err := checkText(file, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"offset 9: RDB version 9\n",
		"offset 11: database 0\n",
		`: string "seconds"` + "\n",
		`: hash "zipmap"` + "\n",
		"good: 2859 bytes, 14 keys, 2 with an expiry, 3 string, 3 list, 2 set, 3 zset, 3 hash; checksum is right\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if text, _ := checkText(file, false); strings.Contains(text, "zipmap") {
		t.Errorf("keys were not wanted:\n%s", text)
	}
}

func TestCheckNamesTheDamage(t *testing.T) {
	pending := func(owners string) string {
		return "\x01" + node("1 0 1 f 0 2 0 1 v 4") + "\x01\x06\x00\x05\x00\x00\x00\x01\x01\x01g\x00\x00\x00\x01" +
			strings.Repeat("\x07", 16) + strings.Repeat("\x00", 8) + "\x01" + owners
	}
	owner := "\x01c" + strings.Repeat("\x00", 8)
	for _, c := range []struct {
		name, value string
		typ         Type
		want        error
		text        string
	}{
		{"field twice", "\x02" + strings.Repeat(str("f")+str("v"), 2), TypeHash, ErrDuplicate, "damaged at offset 26, key \"k\" (hash of type 4, database 0): element is there twice\n"},
		{"member twice", strs("a", "a"), TypeSet, ErrDuplicate, "(set of type 2"},
		{"zset member twice", "\x02" + strings.Repeat(str("m")+"\x00\x00\x00\x00\x00\x00\x00\x00", 2), TypeZSet, ErrDuplicate, "zset"},
		{"listpack", blob([]byte("\x08\x00\x00\x00\x01\x00\xf5\xff")), TypeHashListpack, packed.ErrListpackEncoding, `damaged at offset 26, key "k" (hash of type 16, database 0): listpack: unknown kind of element`},
		{"owner missing", pending("\x00"), TypeStream2, errPendingOrphan, "stream"},
		{"pending entry of somebody else", pending("\x01" + owner + "\x01" + strings.Repeat("\x08", 16)), TypeStream2, errPendingOwner, "stream"},
		{"two owners", pending("\x01" + owner + "\x02" + strings.Repeat("\x07", 32)), TypeStream2, errPendingOwner, "stream"},
		{"consumer twice", pending("\x02" + owner + "\x00" + owner + "\x00"), TypeStream2, errConsumerTwice, "stream"},
		{"right", pending("\x01" + owner + "\x01" + strings.Repeat("\x07", 16)), TypeStream2, nil, "1 stream"},
	} {
		file := fileOf(10, kept(TypeString, "a", "\x01v")+kept(c.typ, "k", c.value))
		text, err := checkText(file, false)
		if !errors.Is(err, c.want) || !strings.Contains(text, c.text) || err != nil && !strings.Contains(text, "1 keys before it are good") {
			t.Errorf("%s: %v\n%s", c.name, err, text)
		}
	}
}

func TestCheckAgreesWithRedisCheckRDB(t *testing.T) {
	r := startRedis(t, "")
	populate(r)
	file := r.save()
	checkedByRedis(t, file)
	text, err := checkText(file, true)
	if err != nil || !strings.Contains(text, "checksum is right") {
		t.Fatalf("%v\n%s", err, text)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errPipe }

func TestCheckTellsThatTheReportIsLost(t *testing.T) {
	if _, err := Check(bytes.NewReader(fileOf(10, "")), full{}, CheckOptions{}); !errors.Is(err, errPipe) {
		t.Errorf("%v", err)
	}
}
