package command

import "testing"

// A client that waits for a sorted set gets the member when it comes, and the log has the removal as it happened.
func TestBlockedOnZSets(t *testing.T) {
	for _, test := range []struct {
		wait   []string
		bring  string
		reply  string
		effect string
		left   string
	}{
		{[]string{"BZPOPMIN", "a", "b", "0"}, "ZADD b 2 two 1 one", `["b" "one" "1"]`, "ZPOPMIN b", "1"},
		{[]string{"BZPOPMAX", "a", "b", "0"}, "ZADD b 2 two 1 one", `["b" "two" "2"]`, "ZPOPMAX b", "1"},
		{[]string{"BZMPOP", "0", "2", "a", "b", "MAX", "COUNT", "5"}, "ZADD b 2 two 1 one", `["b" [["two" "2"] ["one" "1"]]]`, "ZPOPMAX b 2", "0"},
		{[]string{"BZMPOP", "0", "1", "b", "MIN"}, "GEOADD b 1 2 place", `["b" [["place" "3378080408407459"]]]`, "ZPOPMIN b 1", "0"},
	} {
		t.Run(test.wait[0]+" "+test.bring, func(t *testing.T) {
			h := newHarness(t)
			waiter := h.client()
			waiter.send(test.wait...)
			h.do(test.bring)
			if got := waiter.read().String(); got != test.reply {
				t.Errorf("the waiter gets %s, want %s", got, test.reply)
			}
			effects := h.effects()
			if got := effects[len(effects)-1]; got != test.effect {
				t.Errorf("logged %q last, want %q", got, test.effect)
			}
			h.want("ZCARD b", ":"+test.left)
		})
	}
}
