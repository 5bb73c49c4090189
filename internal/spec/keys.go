package spec

// BeginSearch says how the place is found from which the keys of a key spec are counted.
type BeginSearch uint8

// The ways to begin a search.
const (
	BeginUnknown BeginSearch = iota
	BeginIndex               // at position Index
	BeginKeyword             // after Keyword
)

// FindKeys says which arguments, from where the search began, are keys.
type FindKeys uint8

// The ways to find keys.
const (
	FindUnknown FindKeys = iota
	FindRange            // up to a last one
	FindKeyNum           // as many as an argument says
)

// KeySpec describes one run of keys among the arguments of a command. Positions count the command's name as 0.
type KeySpec struct {
	Flags KeyFlag
	Notes string // empty: none

	Begin     BeginSearch
	Index     int    // of BeginIndex
	Keyword   string // of BeginKeyword
	StartFrom int    // of BeginKeyword: position to search from forwards; negative: from so far before the end, backwards
	keyword   string // Keyword in lower case

	Find     FindKeys
	Last     int // of FindRange: position of the last key from the first; negative: from the end of the arguments
	Limit    int // of FindRange: if not 0, only a Limit-th of the arguments are keys
	NumberAt int // of FindKeyNum: position of the number from where the search began
	First    int // of FindKeyNum: position of the first key from there
	Step     int // distance between two keys
}

// KeyRef is one key among the arguments of a command.
type KeyRef struct {
	Pos   int
	Flags KeyFlag
}

// Error is a client's mistake; its text goes on the wire.
type Error string

// Error returns the text.
func (e Error) Error() string { return string(e) }

// What COMMAND GETKEYS answers when it finds no keys. Keys returns only ErrInvalidArguments.
const (
	ErrInvalidCommand   Error = "Invalid command specified"
	ErrNoKeyArguments   Error = "The command has no key arguments"
	ErrInvalidArity     Error = "Invalid number of arguments specified for command"
	ErrInvalidArguments Error = "Invalid arguments specified for command"
)

// HasKeys says whether the command can have keys at all.
func (r *Row) HasKeys() bool {
	if r.finder != finderNone {
		return true
	}
	for i := range r.KeySpecs {
		if r.KeySpecs[i].Flags&KeyNotKey == 0 {
			return true
		}
	}
	return false
}

// Keys appends to dst where the keys are in a command line and how the command uses each. args[0] is the command's name; of a
// subcommand, args[1] is its own. The arguments need not be valid: if they are such that the command is going to refuse them,
// dst comes back as it was, with ErrInvalidArguments unless the command may go without keys.
//
// This is what ACL checks and COMMAND GETKEYSANDFLAGS go by. It allocates only if dst is too small.
func (r *Row) Keys(args [][]byte, dst []KeyRef) ([]KeyRef, error) {
	if len(r.KeySpecs) == 0 {
		return dst, nil
	}
	had := len(dst)
	found := false
	if !r.noSpecs {
		dst, found = r.keysBySpecs(args, dst)
	}
	if !found && r.finder != finderNone {
		dst = r.finder.find(r, args, dst[:had])
	}
	if len(dst) == had && r.Flags&NoMandatoryKeys == 0 && r.HasKeys() {
		return dst, ErrInvalidArguments
	}
	return dst, nil
}

// RouteKeys is Keys for choosing the slot and the locks: where a command accepts options that contradict each other and obeys
// the last (GEORADIUS with STORE and STOREDIST), only the key it is going to use counts. Arguments that are going to be refused
// have no keys. The flags of the keys are not reliable.
func (r *Row) RouteKeys(args [][]byte, dst []KeyRef) []KeyRef {
	if r.finder != finderNone {
		return r.finder.find(r, args, dst)
	}
	dst, _ = r.keysBySpecs(args, dst)
	return dst
}

// GetKeys is Keys for a whole command line, with the errors of COMMAND GETKEYS.
func (t *Table) GetKeys(args [][]byte, dst []KeyRef) ([]KeyRef, error) {
	row, _ := t.Resolve(args)
	switch {
	case row == nil:
		return dst, ErrInvalidCommand
	case !row.HasKeys():
		return dst, ErrNoKeyArguments
	case !row.AcceptsArity(len(args)):
		return dst, ErrInvalidArity
	}
	return row.Keys(args, dst)
}

// ChannelArgs returns those of the arguments that are channels or patterns of channels.
func (r *Row) ChannelArgs(args [][]byte) [][]byte {
	c := &r.Channels
	if c.Flags == 0 || c.First >= len(args) {
		return nil
	}
	if c.Count < 0 {
		return args[c.First:]
	}
	return args[c.First:min(c.First+c.Count, len(args))]
}

// keysBySpecs follows the key specs. When one of them does not fit the arguments, or does not tell everything, it gives up.
func (r *Row) keysBySpecs(args [][]byte, dst []KeyRef) (_ []KeyRef, ok bool) {
	had := len(dst)
	for i := range r.KeySpecs {
		s := &r.KeySpecs[i]
		if s.Flags&KeyNotKey != 0 {
			continue
		}
		first, last, verdict := s.bounds(args)
		if verdict == specAbsent {
			continue
		}
		if verdict == specUnfit || s.Flags&KeyIncomplete != 0 {
			return dst[:had], false
		}
		for pos := first; pos <= last; pos += s.Step {
			dst = append(dst, KeyRef{pos, s.Flags})
		}
	}
	return dst, true
}

type specVerdict uint8

const (
	specFound  specVerdict = iota // keys are from first to last, both within the arguments
	specAbsent                    // there are no such keys in this command line, which is fine
	specUnfit                     // the arguments do not fit
)

// bounds finds where the keys of a spec begin and end.
func (s *KeySpec) bounds(args [][]byte) (first, last int, _ specVerdict) {
	switch s.Begin {
	case BeginIndex:
		first = s.Index
	case BeginKeyword:
		if first = s.afterKeyword(args); first == 0 {
			return 0, 0, specAbsent
		}
	default:
		return 0, 0, specUnfit
	}
	argc := len(args)
	switch {
	case s.Find == FindUnknown:
		return 0, 0, specUnfit
	case s.Find == FindKeyNum:
		var ok bool
		if first, last, ok = s.counted(args, first); !ok {
			return 0, 0, specUnfit
		}
	case s.Last >= 0:
		last = first + s.Last
	case s.Limit == 0:
		last = argc + s.Last
	default:
		last = first + (argc-first)/s.Limit + s.Last
	}
	if s.isOpenEnd(first, argc) {
		return 0, 0, specAbsent
	}
	if last >= argc || last < first {
		return 0, 0, specUnfit
	}
	return first, last, specFound
}

// isOpenEnd says whether "all arguments from here on" are none. That is no fault when keys came before it (PFMERGE without
// sources); where at least one is needed, the arity has already been checked.
func (s *KeySpec) isOpenEnd(first, argc int) bool {
	return s.Begin == BeginIndex && s.Index > 1 && s.Find == FindRange && s.Last == -1 && first == argc
}

// afterKeyword returns the position after the keyword, or 0. As the last argument it is no keyword, since nothing follows it.
func (s *KeySpec) afterKeyword(args [][]byte) int {
	if s.StartFrom > 0 {
		for i := s.StartFrom; i < len(args)-1; i++ {
			if equalFold(args[i], s.keyword) {
				return i + 1
			}
		}
		return 0
	}
	for i := len(args) + s.StartFrom; i > 1; i-- {
		if equalFold(args[i], s.keyword) {
			return i + 1
		}
	}
	return 0
}

// counted finds the keys that an argument counts. The number is the client's word: it is good only if that many follow.
func (s *KeySpec) counted(args [][]byte, begin int) (first, last int, ok bool) {
	at := begin + s.NumberAt
	if at >= len(args) {
		return 0, 0, false
	}
	n, ok := parseCount(args[at])
	if !ok || n > len(args) {
		return 0, 0, false
	}
	first = begin + s.First
	return first, first + n - 1, true
}

// countDigitsMax is enough for any number of arguments that a command line can have.
const countDigitsMax = 9

// parseCount reads a decimal number without sign or leading zeros.
func parseCount(text []byte) (int, bool) {
	if len(text) == 0 || len(text) > countDigitsMax || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// deriveKeys fills in what follows from the key specs.
func (r *Row) deriveKeys() {
	for i := range r.KeySpecs {
		r.noSpecs = r.noSpecs || r.KeySpecs[i].Flags&KeyVariableFlags != 0
	}
	if r.keysMove() {
		r.Flags |= MovableKeys
	}
	r.FirstKey, r.LastKey, r.Step = r.keyRange()
}

// isPlain says whether a spec is of the kind that first, last and step can describe.
func (s *KeySpec) isPlain() bool { return s.Begin == BeginIndex && s.Find == FindRange }

// eachPlainSpec visits the specs that first, last and step are made of: those with a step of 1 that follow each other without a
// gap. A single spec may have any step.
func (r *Row) eachPlainSpec(yield func(s *KeySpec, last int)) (all bool) {
	all = true
	before := 0
	for i := range r.KeySpecs {
		s := &r.KeySpecs[i]
		alone := len(r.KeySpecs) == 1
		if !s.isPlain() || !alone && (s.Step != 1 || before != 0 && before != s.Index-1) {
			all = false
			continue
		}
		last := s.Last
		if last >= 0 {
			last += s.Index
		}
		yield(s, last)
		before = last
	}
	return all
}

// keysMove says whether first, last and step leave out keys of the command.
func (r *Row) keysMove() bool {
	incomplete := false
	all := r.eachPlainSpec(func(s *KeySpec, _ int) {
		incomplete = incomplete || s.Flags&KeyIncomplete != 0
	})
	return !all || incomplete
}

// keyRange makes the old description of where keys are. A last position below zero counts from the end, so it is the greatest.
func (r *Row) keyRange() (first, last, step int) {
	r.eachPlainSpec(func(s *KeySpec, end int) {
		if first == 0 {
			first, last, step = s.Index, end, s.Step
			return
		}
		first = min(first, s.Index)
		if uint(end) > uint(last) {
			last = end
		}
	})
	return first, last, step
}
