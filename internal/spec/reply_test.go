package spec

import (
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/resp"
)

// What the encoders write, in RESP2 and RESP3; the reference test compares all rows with a Redis server.
func TestReplies(t *testing.T) {
	table := load(t)
	get, quit := table.Find([]byte("get")), table.Find([]byte("quit"))
	for _, test := range []struct {
		what string
		got  []byte
		want string
	}{
		{"info of get, RESP2", AppendInfo(nil, resp.RESP2, get), `*10 $3 get :2 *2 +readonly +fast :1 :1 :1 ` +
			`*3 +@read +@string +@fast *0 *1 *6 $5 flags *2 +RO +access ` +
			`$12 begin_search *4 $4 type $5 index $4 spec *2 $5 index :1 ` +
			`$9 find_keys *4 $4 type $5 range $4 spec *6 $7 lastkey :0 $7 keystep :1 $5 limit :0 *0`},
		{"info of get, RESP3", AppendInfo(nil, resp.RESP3, get), `*10 $3 get :2 ~2 +readonly +fast :1 :1 :1 ` +
			`~3 +@read +@string +@fast ~0 ~1 %3 $5 flags ~2 +RO +access ` +
			`$12 begin_search %2 $4 type $5 index $4 spec %1 $5 index :1 ` +
			`$9 find_keys %2 $4 type $5 range $4 spec %3 $7 lastkey :0 $7 keystep :1 $5 limit :0 ~0`},
		{"docs of get, RESP3", AppendDocs(nil, resp.RESP3, get), `%5 $7 summary $15 Reads a string. $5 since $5 1.0.0 ` +
			`$5 group $6 string $10 complexity $4 O(1) $9 arguments *1 %4 $4 name $3 key $4 type $3 key ` +
			`$12 display_text $3 key $14 key_spec_index :0`},
		{"docs of quit, RESP2", AppendDocs(nil, resp.RESP2, quit), `*14 $7 summary $41 ` + quit.Summary + ` $5 since $5 1.0.0 ` +
			`$5 group $10 connection $10 complexity $4 O(1) $9 doc_flags *1 +deprecated $16 deprecated_since $5 7.2.0 ` +
			`$11 replaced_by $18 ` + quit.ReplacedBy},
		{"key flags, RESP3", AppendKeyFlags(nil, resp.RESP3, KeyOW|KeyUpdate), `~2 +OW +update`},
	} {
		got := strings.TrimSuffix(strings.ReplaceAll(string(test.got), "\r\n", " "), " ")
		if got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.what, got, test.want)
		}
	}
	if appended := AppendInfo([]byte("x"), resp.RESP2, get); appended[0] != 'x' {
		t.Error("AppendInfo does not append")
	}
}
