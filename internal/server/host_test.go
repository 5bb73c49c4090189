package server

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

func TestSupervisorOf(t *testing.T) {
	for _, c := range []struct {
		mode, socket, job string
		want              supervisor
	}{
		{"no", "/s", "j", unsupervised}, {"systemd", "/s", "", systemd}, {"systemd", "", "", unsupervised},
		{"upstart", "", "j", upstart}, {"upstart", "/s", "", unsupervised},
		{"auto", "", "", unsupervised}, {"auto", "/s", "", systemd}, {"auto", "", "j", upstart}, {"auto", "/s", "j", upstart},
	} {
		t.Setenv("NOTIFY_SOCKET", c.socket)
		t.Setenv("UPSTART_JOB", c.job)
		if got := supervisorOf(c.mode); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
		if got := Supervised(c.mode); got != (c.want != unsupervised) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestSendNotify(t *testing.T) {
	dir, err := os.MkdirTemp("", "n") // the path of a Unix socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := sendNotify(path, "READY=1\n"); err != nil {
		t.Fatal(err)
	}
	_ = l.SetReadDeadline(time.Now().Add(testkit.Patience))
	b := make([]byte, 64)
	n, err := l.Read(b)
	if err != nil || string(b[:n]) != "READY=1\n" {
		t.Fatalf("%q %v", b[:n], err)
	}
	for _, bad := range []string{"", "relative", path + "no"} {
		if err := sendNotify(bad, "x"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
