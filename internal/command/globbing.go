package command

// matches is a stand-in until package glob is there.
func matches(pattern, s []byte) bool { return string(pattern) == string(s) }
