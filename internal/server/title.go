package server

import (
	"fmt"
	"strconv"

	"github.com/covey-db/covey/internal/config"
)

// This file makes the title of the process, which ps shows in place of the command line.

// putTitle gives the process the title that its template makes.
func (s *Server) putTitle(c config.Snapshot) error {
	if s.process.SetTitle != nil && c.Bool("set-proc-title") {
		s.process.SetTitle(s.title(c))
	}
	return nil
}

// title fills proc-title-template in.
func (s *Server) title(c config.Snapshot) string {
	port, tlsPort := c.Int("port"), c.Int("tls-port")
	values := map[string]string{
		"title":       s.process.Name,
		"listen-addr": listenAddr(c.Strings("bind"), port, tlsPort, c.String("unixsocket")),
		"config-file": "-",
		"port":        strconv.FormatInt(port, 10),
		"tls-port":    strconv.FormatInt(tlsPort, 10),
		"unixsocket":  c.String("unixsocket"),
	}
	if s.confFile != "" {
		values["config-file"] = s.confFile
	}
	if s.engine.ClusterOn {
		values["server-mode"] = "[cluster]"
	}
	text, _ := config.ExpandTitle(c.String("proc-title-template"), values)
	return text
}

// listenAddr is where clients are served first of all.
func listenAddr(bind []string, port, tlsPort int64, unixSocket string) string {
	if port == 0 {
		port = tlsPort
	}
	switch {
	case port == 0:
		return "unixsocket:" + unixSocket
	case len(bind) == 0:
		return fmt.Sprintf("*:%d", port)
	}
	return fmt.Sprintf("%s:%d", bind[0], port)
}
