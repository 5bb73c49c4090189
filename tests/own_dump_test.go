package tests

import (
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

func TestCase_e28h_DumpAndRestoreOfEveryType(t *testing.T) {
	own(t, "e28h", func(t testing.TB) {
		c := testkit.Start(t, testkit.Options{}).Dial(t)
		fillAllTypes(t, c, "")
		before := contents(t, c)
		for key := range before {
			payload := c.OK(t, "DUMP", key).Text
			c.Want(t, "+OK", "RESTORE", "copy:"+key, "0", payload)
			c.Want(t, "-BUSYKEY...", "RESTORE", "copy:"+key, "0", payload)
			c.Want(t, "+OK", "RESTORE", "copy:"+key, "4102444800555", payload, "REPLACE", "ABSTTL")
		}
		after := contents(t, c)
		for key, value := range before {
			copied := after["copy:"+key]
			words, wanted := strings.SplitN(copied, " ", 3), strings.SplitN(value, " ", 3)
			if len(words) != 3 || words[0] != wanted[0] || words[1] != ":4102444800555" || words[2] != wanted[2] {
				t.Errorf("%q became %.300q, was %.300q", key, copied, value)
			}
		}
		payload := c.OK(t, "DUMP", "string").Text
		c.Want(t, "+OK", "RESTORE", "relative", "100000", payload)
		c.Want(t, "number & int(>90000) & int(<=100000)", "PTTL", "relative")
	})
}
