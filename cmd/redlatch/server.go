package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
)

// Where the server is, unless --redis says so.
const (
	serverVariable = "REDLATCH_REDIS"
	serverDefault  = "redis://127.0.0.1:6379"
)

// server is the one that a verb talks to.
type server struct{ flag string }

// register gives a verb the flag --redis.
func (s *server) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.flag, "redis", "", "`URL` of the server (default $"+serverVariable+", or "+serverDefault+")")
}

func (s *server) url() string { return cmp.Or(s.flag, os.Getenv(serverVariable), serverDefault) }

// connect connects to the server. The client logs nothing: what is worth a line is told
// by the verb, and the rest of stderr is the command's that runs.
func (s *server) connect(ctx context.Context, cfg redlatch.Config) (*redlatch.Client, error) {
	if strings.HasPrefix(s.url(), "memory:") {
		return nil, exit(exitUsage, "%s lives inside one process, which is this one", s.url())
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	client, err := redlatch.Open(ctx, s.url(), cfg)
	if err != nil {
		return nil, failed(err)
	}
	return client, nil
}

// failed gives an error of the library the exit code that it deserves.
func failed(err error) error {
	var config *redlatch.ConfigError
	if errors.As(err, &config) || errors.Is(err, redlatch.ErrInvalidName) {
		return &exitError{exitUsage, err}
	}
	return &exitError{exitFailure, err}
}

// leave closes a client. What it cannot give back in time ends with its lease.
func leave(client *redlatch.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = client.Close(ctx)
}
