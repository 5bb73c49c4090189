package credential

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// This file reads the words of tls-protocols and tls-ciphers, which are those of OpenSSL.

// protocols are the lowest and the highest version that are offered.
func protocols(words string) (low, high uint16, err error) {
	if words == "" {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	versions := map[string]uint16{
		"tlsv1": tls.VersionTLS10, "tlsv1.1": tls.VersionTLS11, "tlsv1.2": tls.VersionTLS12, "tlsv1.3": tls.VersionTLS13,
	}
	seen := map[uint16]bool{}
	for word := range strings.FieldsSeq(words) {
		v, ok := versions[strings.ToLower(word)]
		if !ok {
			return 0, 0, fmt.Errorf("tls-protocols: %q is none of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3", word)
		}
		if len(seen) == 0 {
			low, high = v, v
		}
		low, high = min(low, v), max(high, v)
		seen[v] = true
	}
	switch {
	case len(seen) == 0:
		return 0, 0, errors.New("tls-protocols: no version is left")
	case int(high-low)+1 != len(seen):
		return 0, 0, errors.New("tls-protocols: the versions must follow one another, without a gap")
	}
	return low, high, nil
}

// suite is a cipher suite of TLS 1.2 and older.
type suite struct {
	name string // of OpenSSL
	id   uint16
}

// known are the suites of Go that OpenSSL has in its default list, strongest first.
func known() []suite {
	return []suite{
		{"ECDHE-ECDSA-AES256-GCM-SHA384", tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384},
		{"ECDHE-RSA-AES256-GCM-SHA384", tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
		{"ECDHE-ECDSA-CHACHA20-POLY1305", tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256},
		{"ECDHE-RSA-CHACHA20-POLY1305", tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256},
		{"ECDHE-ECDSA-AES128-GCM-SHA256", tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		{"ECDHE-RSA-AES128-GCM-SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
		{"ECDHE-ECDSA-AES128-SHA256", tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256},
		{"ECDHE-RSA-AES128-SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256},
		{"ECDHE-ECDSA-AES256-SHA", tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA},
		{"ECDHE-RSA-AES256-SHA", tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA},
		{"ECDHE-ECDSA-AES128-SHA", tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA},
		{"ECDHE-RSA-AES128-SHA", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA},
		{"AES256-GCM-SHA384", tls.TLS_RSA_WITH_AES_256_GCM_SHA384},
		{"AES128-GCM-SHA256", tls.TLS_RSA_WITH_AES_128_GCM_SHA256},
		{"AES128-SHA256", tls.TLS_RSA_WITH_AES_128_CBC_SHA256},
		{"AES256-SHA", tls.TLS_RSA_WITH_AES_256_CBC_SHA},
		{"AES128-SHA", tls.TLS_RSA_WITH_AES_128_CBC_SHA},
	}
}

// suites reads a cipher list of OpenSSL: names and classes, of which "-" and "!" take away. As there, words that name
// nothing that we have are passed over, but something must be left. What is set by "@", as "@SECLEVEL=1", is Go's own
// business. nil stands for Go's own choice.
func suites(list string) ([]uint16, error) {
	if list == "" {
		return nil, nil
	}
	all := known()
	var ids []uint16
	banned := map[uint16]bool{}
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(list, "@", ":@"), func(r rune) bool { return strings.ContainsRune(":, ", r) }) {
		op := word[0]
		name := strings.TrimLeft(word, "!-+")
		for _, s := range all {
			if !s.is(name) {
				continue
			}
			switch {
			case op == '!' || op == '-':
				ids = slices.DeleteFunc(ids, func(id uint16) bool { return id == s.id })
				banned[s.id] = banned[s.id] || op == '!'
			case op != '+' && !banned[s.id] && !slices.Contains(ids, s.id):
				ids = append(ids, s.id)
			}
		}
	}
	if len(ids) == 0 {
		names := make([]string, len(all))
		for i, s := range all {
			names[i] = s.name
		}
		return nil, fmt.Errorf("tls-ciphers: nothing in %q is available; there are %s", list, strings.Join(names, ":"))
	}
	return ids, nil
}

// is tells whether a word of a cipher list means the suite: its name, its name in the standards, or classes joined by "+".
func (s suite) is(word string) bool {
	if word == s.name || word == tls.CipherSuiteName(s.id) {
		return true
	}
	for class := range strings.SplitSeq(word, "+") {
		if !s.in(class) {
			return false
		}
	}
	return true
}

func (s suite) in(class string) bool {
	elliptic := strings.HasPrefix(s.name, "ECDHE-")
	ecdsa := strings.Contains(s.name, "ECDSA")
	switch class {
	case "DEFAULT", "ALL", "HIGH":
		return true
	case "ECDHE", "EECDH", "kECDHE", "kEECDH":
		return elliptic
	case "RSA", "kRSA":
		return !elliptic
	case "aRSA":
		return !ecdsa
	case "ECDSA", "aECDSA":
		return ecdsa
	case "AES", "AES128", "AES256", "CHACHA20":
		return strings.Contains(s.name, class)
	case "AESGCM":
		return strings.Contains(s.name, "-GCM-")
	case "SHA", "SHA1":
		return strings.HasSuffix(s.name, "-SHA")
	case "SHA256", "SHA384":
		return strings.HasSuffix(s.name, class) && !strings.Contains(s.name, "GCM")
	}
	return false
}
