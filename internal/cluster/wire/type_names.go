package wire

// typeNames are the names of the packet types in CLUSTER INFO (cluster_stats_messages_<name>_sent) and in logs.
var typeNames = [TypeCount]string{
	"ping", "pong", "meet", "fail", "publish", "auth-req", "auth-ack", "update", "mfstart", "module", "publishshard",
}

// String gives the name of the type, "unknown" for a number that is none.
func (t Type) String() string {
	if t < TypeCount {
		return typeNames[t]
	}
	return "unknown"
}
