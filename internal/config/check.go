// Further tests of single directives.

package config

import "strings"

const (
	hzMin       = 1
	hzMax       = 500
	hostnameMax = 255      // bytes
	backlogMin  = 16 << 10 // bytes
)

// atLeastBacklog takes any size for the backlog and makes it one that can be used.
func atLeastBacklog(n int64) int64 { return max(n, backlogMin) }

// clampHz takes any number for hz and keeps it between the bounds.
func clampHz(n int64) int64 { return min(max(n, hzMin), hzMax) }

func isBaseName(name string) bool { return !strings.ContainsAny(name, `/\`) }

func checkSnapshotName(name string) error { return unless(isBaseName(name), badSnapshotName) }

func checkAppendName(name string) error {
	if name == "" {
		return emptyAppendName
	}
	return unless(isBaseName(name), badAppendName)
}

func checkAppendDirectory(name string) error {
	if name == "" {
		return emptyAppendDir
	}
	return unless(isBaseName(name), badAppendDir)
}

func isAlphanumeric(c byte) bool { return c|0x20-'a' < 26 || c-'0' < 10 }

func checkHostname(name string) error {
	if len(name) > hostnameMax {
		return badHostnameLength
	}
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && c != '-' && c != '.' {
			return badHostname
		}
	}
	return nil
}

// checkNodename refuses what Redis refuses, and also what would break a line of nodes.conf.
func checkNodename(name string) error {
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c == 0x7f || strings.IndexByte("!#$%&()*+:;<>?@[]^{|}~,=", c) >= 0 {
			return badNodename
		}
	}
	return nil
}

// checkCiphersuites wants suites of TLS 1.3, those of OpenSSL.
func checkCiphersuites(list string) error {
	for word := range strings.SplitSeq(list, ":") {
		switch word {
		case "", "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
			"TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256":
		default:
			return badSuites
		}
	}
	return nil
}
