package clients

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// same are metrics whose values follow from the data, and are the same on every server that holds it.
var same = []string{ // does not change
	"redis_up", "redis_db_keys", "redis_db_keys_expiring", "redis_key_size", "redis_key_value", "redis_stream_length",
	"redis_stream_groups", "redis_stream_group_messages_pending", "redis_stream_group_consumers", "redis_connected_slaves",
	"redis_cluster_enabled", "redis_master_link_up", "redis_number_of_cached_scripts",
}

// exporter is a Prometheus exporter that scrapes whom it is told to.
type exporter struct{ address string }

func startExporter(t *testing.T) exporter {
	t.Helper()
	x := exporter{fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))}
	command := exec.CommandContext(t.Context(), testkit.Need(t, "prometheus-redis-exporter"),
		"-web.listen-address", x.address, "-redis.addr", "", "-include-system-metrics", "-export-client-list")
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	testkit.Eventually(t, stepWithin, func() error {
		response, err := http.Get("http://" + x.address + "/health")
		if err == nil {
			err = response.Body.Close()
		}
		return err
	})
	return x
}

// scrape returns the samples of a server: values by name and labels.
func (x exporter) scrape(t *testing.T, server *testkit.Server) map[string]string {
	t.Helper()
	const keys = "&check-single-keys=db0=hash,db0=key:1,db0=number&check-single-streams=db0=stream"
	response, err := http.Get("http://" + x.address + "/scrape?target=redis://" + server.Addr() + keys)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	samples := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			samples[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	if len(samples) < 100 {
		t.Fatalf("%s: only %d samples:\n%s", server, len(samples), text)
	}
	return samples
}

// nameOf is the name of a metric without its labels.
func nameOf(sample string) string {
	name, _, _ := strings.Cut(sample, "{")
	return name
}

func names(samples map[string]string) map[string]bool {
	all := map[string]bool{}
	for sample := range samples {
		all[nameOf(sample)] = true
	}
	return all
}

// valuesOf are the samples that must be the same, without the ports.
func valuesOf(samples map[string]string) []string {
	var all []string
	port := regexp.MustCompile(`master_port="\d+"`)
	for sample, value := range samples {
		if slices.Contains(same, nameOf(sample)) {
			all = append(all, port.ReplaceAllString(sample, "")+" "+value)
		}
	}
	for sample := range samples {
		if nameOf(sample) == "redis_instance_info" { // its other labels tell servers apart
			all = append(all, regexp.MustCompile(`os="[^"]*"`).FindString(sample))
		}
	}
	slices.Sort(all)
	return all
}

// use gives a server the same past as every other.
func use(t testing.TB, server *testkit.Server) {
	t.Helper()
	fill(t, server)
	c := server.Dial(t)
	c.OK(t, "SET", "number", "7")
	c.Want(t, "-WRONGTYPE...", "LPUSH", "number", "x")
	c.Want(t, "-ERR unknown command...", "NOSUCH")
	c.OK(t, "EVAL", "return 1", "0")
	c.OK(t, "PUBLISH", "channel", "message")
	c.OK(t, "CONFIG", "SET", "latency-monitor-threshold", "1")
	c.OK(t, "DEBUG", "SLEEP", "0.02")
	c.OK(t, "BGSAVE")
	testkit.Eventually(t, stepWithin, func() error {
		info, err := server.TryInfo("persistence")
		if err == nil && info["rdb_bgsave_in_progress"] != "0" {
			err = fmt.Errorf("the snapshot is not done")
		}
		return err
	})
}

// TestPrometheusExporter scrapes our server and the real one, with the same data and past: every metric that the exporter
// finds there it finds here, and those that follow from the data are equal.
func TestPrometheusExporter(t *testing.T) {
	t.Parallel()
	x := startExporter(t)
	conf := []string{"enable-debug-command yes", "slowlog-log-slower-than 0", "maxmemory 1gb"}
	for name, roles := range map[string]int{"alone": 1, "pair": 2, "cluster": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var scraped [2][]map[string]string
			for i, binary := range []testkit.Binary{testkit.SUT(t), testkit.Redis(t)} {
				scraped[i] = scrapeAll(t, x, name, testkit.Options{Binary: binary, Conf: conf})
			}
			for role := range roles {
				compare(t, scraped[0][role], scraped[1][role])
			}
		})
	}
}

// scrapeAll starts servers in a setting, uses them and scrapes each.
func scrapeAll(t *testing.T, x exporter, setting string, o testkit.Options) []map[string]string {
	t.Helper()
	var servers []*testkit.Server
	switch setting {
	case "alone", "pair":
		servers = append(servers, testkit.Start(t, o))
	case "cluster":
		cluster := testkit.ClusterOptions{Primaries: 1, Binaries: []testkit.Binary{o.Binary}, Conf: o.Conf}
		servers = testkit.StartCluster(t, cluster).Nodes
	}
	if setting == "pair" {
		servers = append(servers, testkit.Start(t, o))
		servers[1].Follow(t, servers[0])
	}
	use(t, servers[0])
	var all []map[string]string
	for _, server := range servers {
		testkit.Eventually(t, stepWithin, func() error {
			v, err := server.Try("DBSIZE")
			if err == nil && v.Int != 307 {
				err = fmt.Errorf("%d keys", v.Int)
			}
			return err
		})
		all = append(all, x.scrape(t, server))
	}
	return all
}

func compare(t *testing.T, ours, theirs map[string]string) {
	t.Helper()
	found := names(ours)
	for _, name := range slices.Sorted(maps.Keys(names(theirs))) {
		if !found[name] {
			t.Errorf("%s is missing", name)
		}
	}
	if a, b := valuesOf(ours), valuesOf(theirs); !slices.Equal(a, b) {
		t.Errorf("other values:\n%s\nthan redis-server's:\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}
