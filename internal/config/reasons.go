// What is said about a bad value, a bad line and a refused CONFIG SET. Tools and tests of users compare these texts, so they
// are those of Redis.

package config

import (
	"strconv"
	"strings"
)

type reason string

func (r reason) Error() string { return string(r) }

const (
	badArgumentCount  reason = "wrong number of arguments"
	badBool           reason = "argument must be 'yes' or 'no'"
	badMemory         reason = "argument must be a memory value"
	badMemoryShare    reason = "argument must be a memory or percent value"
	badOctal          reason = "argument couldn't be parsed as an octal number"
	badInteger        reason = "argument couldn't be parsed into an integer"
	badSave           reason = "Invalid save parameters"
	badBufferCount    reason = "Wrong number of arguments in buffer limit configuration."
	badBufferClass    reason = "Invalid client class specified in buffer limit configuration."
	badBufferLimit    reason = "Error in hard, soft or soft_seconds setting in buffer limit configuration."
	badScores         reason = "Invalid oom-score-adj-values, elements must be between -2000 and 2000."
	badEvents         reason = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
	badAddressCount   reason = "Too many bind addresses specified."
	badPrimaryPort    reason = "Invalid master port"
	badPercentile     reason = "Invalid latency-tracking-info-percentiles parameters"
	badPercentRange   reason = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
	badSnapshotName   reason = "dbfilename can't be a path, just a filename"
	emptyAppendName   reason = "appendfilename can't be empty"
	badAppendName     reason = "appendfilename can't be a path, just a filename"
	emptyAppendDir    reason = "appenddirname can't be empty"
	badAppendDir      reason = "appenddirname can't be a path, just a dirname"
	badSignals        reason = "shutdown options SAVE and NOSAVE can't be used simultaneously"
	badNodename       reason = "Announced human node name contained invalid character"
	badHostnameLength reason = "Hostnames must be less than 256 characters"
	badHostname       reason = "Hostnames may only contain alphanumeric characters, hyphens or dots"
	badSuites         reason = "Unable to update TLS configuration. Check server logs." // as of every TLS directive
	badTitle          reason = "template format is invalid or contains unknown variables"

	badDirective     reason = "Bad directive or wrong number of arguments"
	badQuotes        reason = "Unbalanced quotes in configuration line"
	noSentinel       reason = "sentinel directive while not in sentinel mode"
	noModules        reason = "loadmodule is refused: Covey cannot run modules of Redis"
	noModuleSettings reason = "module directives are refused: Covey cannot run modules of Redis"
	includeTooDeep   reason = "include goes deeper than 16 files: does a file include itself?"
	replicaInCluster reason = "replicaof directive not allowed in cluster mode"

	setImmutable reason = "can't set immutable config"
	setProtected reason = "can't set protected config"
	setTwice     reason = "duplicate parameter"
)

func badLogFile(err error) reason { return reason("Can't open the log file: " + osText(err)) }

func outOfRange(d *Directive) reason {
	base := 10
	if d.Kind == Octal {
		base = 8
	}
	return reason("argument must be between " + strconv.FormatInt(d.Min, base) + " and " + strconv.FormatInt(d.Max, base) + " inclusive")
}

func shareTooBig(d *Directive) reason {
	return reason("percentage argument must be less or equal to " + strconv.FormatInt(-d.Min, 10))
}

func notAWord(d *Directive) reason {
	names := make([]string, len(d.Words))
	for i, w := range d.Words {
		names[i] = w.Name
	}
	return reason("argument(s) must be one of the following: " + strings.Join(names, ", "))
}

func busPortTooHigh(port int64) reason {
	return reason("port " + strconv.FormatInt(port, 10) + " is too high for cluster mode: the bus listens 10000 above it, " +
		"so choose at most 55535 or set cluster-port")
}
