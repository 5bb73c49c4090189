package server

import (
	"context"
	"errors"

	"github.com/covey-db/covey/internal/engine"
)

// clusterBus is what the server needs of the cluster's driver.
type clusterBus interface {
	Handlers() map[string]engine.Handler
	Load() error
	Run(ctx context.Context) error
	Close()
	SettingsChanged()
}

func (s *Server) newBus() (clusterBus, error) { return nil, errors.New("no bus yet") }

func noClusterHandlers() map[string]engine.Handler { return nil }
