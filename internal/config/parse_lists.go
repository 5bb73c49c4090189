// Values that are lists.

package config

import (
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/num"
)

const (
	defaultSave    = "3600 1 300 100 60 10000"
	defaultBind    = "* -::*"
	defaultScores  = "0 200 800"
	defaultBuffers = "normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60"

	addressesMax   = 16 // as Redis
	scoreMin       = -2000
	scoreMax       = 2000
	percentilesMax = 100.0
)

// isNothing tells the single empty argument by which a list is made empty.
func isNothing(args []string) bool { return len(args) == 1 && args[0] == "" }

func parseSave(args []string) (Value, error) {
	if isNothing(args) {
		args = nil
	}
	if len(args)%2 != 0 {
		return Value{}, badSave
	}
	points := make([]SavePoint, 0, len(args)/2)
	for ; len(args) > 0; args = args[2:] {
		seconds, okSeconds := cNumber(args[0], 10)
		changes, okChanges := cNumber(args[1], 10)
		if !okSeconds || !okChanges || seconds < 1 || changes < 0 {
			return Value{}, badSave
		}
		points = append(points, SavePoint{seconds, changes})
	}
	return saveValue(points), nil
}

func saveValue(points []SavePoint) Value {
	words := make([]string, 0, len(points))
	for _, p := range points {
		words = append(words, p.words())
	}
	return Value{text: strings.Join(words, " "), more: points}
}

func (p SavePoint) words() string {
	return strconv.FormatInt(p.Seconds, 10) + " " + strconv.FormatInt(p.Changes, 10)
}

// parseBuffers reads groups of class, hard limit, soft limit and seconds, on top of the limits in force.
func parseBuffers(args []string, old Value) (Value, error) {
	if len(args)%4 != 0 {
		return Value{}, badBufferCount
	}
	limits := old.BufferLimits()
	for ; len(args) > 0; args = args[4:] {
		class := classOf(args[0])
		if class < 0 {
			return Value{}, badBufferClass
		}
		hard, okHard := num.ParseMemory([]byte(args[1]))
		soft, okSoft := num.ParseMemory([]byte(args[2]))
		seconds, okSeconds := cNumber(args[3], 10)
		if !okHard || !okSoft || !okSeconds || seconds < 0 {
			return Value{}, badBufferLimit
		}
		limits[class] = BufferLimit{hard, soft, seconds}
	}
	words := make([]string, 0, len(limits))
	for class, name := range [clientClasses]string{"normal", "slave", "pubsub"} {
		words = append(words, name+" "+limits[class].words(plainNumber))
	}
	return Value{text: strings.Join(words, " "), more: limits}, nil
}

func classOf(name string) int {
	switch strings.ToLower(name) {
	case "normal":
		return NormalClients
	case "replica", "slave":
		return ReplicaClients
	case "pubsub":
		return PubsubClients
	}
	return -1
}

// words are the three numbers of a limit, the amounts of memory in the given form.
func (l BufferLimit) words(memory func(int64) string) string {
	return memory(l.HardBytes) + " " + memory(l.SoftBytes) + " " + plainNumber(l.SoftSeconds)
}

func plainNumber(n int64) string { return strconv.FormatInt(n, 10) }

func parseScores(args []string) (Value, error) {
	var scores [3]int64
	if len(args) != len(scores) {
		return Value{}, badArgumentCount
	}
	words := make([]string, len(scores))
	for i, arg := range args {
		n, ok := cNumber(arg, 10)
		if !ok || n < scoreMin || n > scoreMax {
			return Value{}, badScores
		}
		scores[i], words[i] = n, plainNumber(n)
	}
	return Value{text: strings.Join(words, " "), more: scores}, nil
}

func parseAddresses(args []string) (Value, error) {
	if len(args) > addressesMax {
		return Value{}, badAddressCount
	}
	list := []string{}
	for _, arg := range args {
		list = append(list, strings.Fields(arg)...)
	}
	return Value{text: strings.Join(list, " "), more: list}, nil
}

func parsePrimary(args []string) (Value, error) {
	if len(args) == 0 { // only the default can be
		return Value{}, nil
	}
	if len(args) != 2 {
		return Value{}, badArgumentCount
	}
	if strings.EqualFold(args[0], "no") && strings.EqualFold(args[1], "one") {
		return Value{}, nil
	}
	port, ok := cNumber(args[1], 10)
	if !ok || port < 0 || port > portMax {
		return Value{}, badPrimaryPort
	}
	return primaryValue(args[0], int(port)), nil
}

func primaryValue(host string, port int) Value {
	return Value{text: host + " " + strconv.Itoa(port), more: address{host, port}}
}

func parsePercentiles(args []string) (Value, error) {
	if isNothing(args) {
		args = nil
	}
	list := make([]float64, 0, len(args))
	words := make([]string, 0, len(args))
	for _, arg := range args {
		f, ok := num.ParseFloat([]byte(arg))
		if !ok {
			return Value{}, badPercentile
		}
		if f < 0 || f > percentilesMax {
			return Value{}, badPercentRange
		}
		list = append(list, f)
		words = append(words, percentileText(f))
	}
	return Value{text: strings.Join(words, " "), more: list}, nil
}

// percentileText has at most six decimals and no zeros at the end.
func percentileText(f float64) string {
	text := strconv.FormatFloat(f, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// eventLetters lists the classes of events in the order in which CONFIG GET names them.
func eventLetters() []Word {
	return []Word{
		{"A", EventAll}, {"g", EventGeneric}, {"$", EventString}, {"l", EventList}, {"s", EventSet}, {"h", EventHash},
		{"z", EventZSet}, {"x", EventExpired}, {"e", EventEvicted}, {"t", EventStream}, {"d", EventModule}, {"n", EventNew},
		{"K", EventKeyspace}, {"E", EventKeyevent}, {"m", EventMiss},
	}
}

func parseEvents(arg string) (Value, error) {
	var set int64
	letters := eventLetters()
	for i := range len(arg) {
		known := false
		for _, w := range letters {
			if w.Name == arg[i:i+1] {
				set |= w.Value
				known = true
			}
		}
		if !known {
			return Value{}, badEvents
		}
	}
	return Value{num: set, text: eventsText(set)}, nil
}

// eventsText names a set of classes as CONFIG GET does: the class of new keys, which is not part of A, is not shown beside A.
func eventsText(set int64) string {
	text := ""
	for _, w := range eventLetters() {
		if set&w.Value != w.Value {
			continue
		}
		text += w.Name
		if w.Value == EventAll {
			set &^= EventAll | EventNew
		}
	}
	return text
}

// eventsLine names a set of classes so that nothing is lost when it is read again.
func eventsLine(set int64) string {
	text := eventsText(set)
	if set&EventAll == EventAll && set&EventNew != 0 {
		text += "n"
	}
	return text
}
