package acl

import "github.com/covey-db/covey/internal/spec"

// Refusal is what a client is told.
func (u *User) Refusal(v Verdict, row *spec.Row) string {
	switch v.Reason {
	case DeniedKey:
		return "No permissions to access a key"
	case DeniedChannel:
		return "No permissions to access a channel"
	}
	return "User " + u.Name + " has no permissions to run the '" + row.Full + "' command"
}

// Explain is Refusal for an operator: it names the key or channel.
func (u *User) Explain(v Verdict, row *spec.Row, args [][]byte) string {
	kind := "key"
	switch v.Reason {
	case DeniedCommand:
		return u.Refusal(v, row)
	case DeniedChannel:
		kind = "channel"
	}
	return "User " + u.Name + " has no permissions to access the '" + string(args[v.Pos]) + "' " + kind
}
