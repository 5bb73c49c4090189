package reply

import "strings"

// The wildcards of text patterns.
const (
	anyText  = "<*>"  // any text, also none
	anyInt   = "<n>"  // a decimal integer
	anyID    = "<id>" // a node id: 40 hexadecimal digits
	openEnd  = "..."  // at the end of an error: anything may follow
	idLength = 40
)

// matchText compares a text with a pattern that may hold wildcards.
func matchText(pattern, text string) bool {
	at := strings.IndexByte(pattern, '<')
	for at >= 0 {
		for _, wild := range []string{anyText, anyInt, anyID} {
			if rest, ok := strings.CutPrefix(pattern[at:], wild); ok {
				literal := pattern[:at]
				return strings.HasPrefix(text, literal) && matchWild(wild, rest, text[at:])
			}
		}
		next := strings.IndexByte(pattern[at+1:], '<')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return pattern == text
}

// matchWild tries every length that the wildcard can take at the start of text.
func matchWild(wild, rest, text string) bool {
	switch wild {
	case anyText:
		for n := 0; n <= len(text); n++ {
			if matchText(rest, text[n:]) {
				return true
			}
		}
		return false
	case anyInt:
		n := len(text) - len(strings.TrimLeft(strings.TrimPrefix(text, "-"), "0123456789"))
		return n > 0 && text[:n] != "-" && matchText(rest, text[n:])
	default:
		return len(text) >= idLength && IsNodeID(text[:idLength]) && matchText(rest, text[idLength:])
	}
}

// IsNodeID tells whether the text is a cluster node id.
func IsNodeID(text string) bool {
	return len(text) == idLength && strings.Trim(text, "0123456789abcdef") == ""
}
