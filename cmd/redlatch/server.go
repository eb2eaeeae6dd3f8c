package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/script"
)

// Where the server is, unless a flag says so.
const (
	serverVariable = "REDLATCH_REDIS"
	serverDefault  = "redis://127.0.0.1:6379"
)

// server is the server of a verb.
type server struct {
	flag, file   string
	passwordFile string
	tls          tlsFiles
	told         bool // which server is used, if nobody named one
}

// register gives a verb the flags that name the server, and lets every flag of the verb be set
// by an environment variable. Everybody on the machine can read a command line, so what is
// secret may stand in a file.
func (s *server) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.flag, "redis", "", "`URL` of the server (default $"+serverVariable+", or "+serverDefault+")")
	flags.StringVar(&s.file, "redis-file", "", "`FILE` that has the URL of the server, for example one with a password")
	flags.StringVar(&s.passwordFile, "password-file", "", "`FILE` that has the password, for a URL without one")
	s.tls.register(flags)
	cmd.PreRunE = readEnvironment
}

// url is the server's URL. It may hold a password: no message shows it.
func (s *server) url() (string, error) {
	if s.file == "" {
		return cmp.Or(s.flag, serverDefault), nil
	}
	text, err := readFile("redis-file", s.file)
	return strings.TrimSpace(string(text)), err
}

// connect connects to the server. The client logs only permissions that it lacks: stderr
// belongs to the command that runs, and the verb reports the rest.
func (s *server) connect(ctx context.Context, cfg redlatch.Config) (*redlatch.Client, error) {
	url, settings, err := s.reach()
	if err != nil {
		return nil, err
	}
	cfg.TLS, cfg.Credentials, cfg.Logger = settings.TLS, settings.Credentials, slog.New(notices{})
	client, err := redlatch.Open(ctx, url, cfg)
	if err != nil {
		return nil, failed(err)
	}
	return client, nil
}

// with connects for a verb, and closes the client after it. A signal that ends the attempt to connect is no error.
func (s *server) with(ctx context.Context, do func(client *redlatch.Client) error) error {
	client, err := s.connect(ctx, redlatch.Config{})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	defer closeClient(client)
	return do(client)
}

// reach is the URL to connect to, with what encrypts the connections and what logs in beside the URL.
func (s *server) reach() (url string, settings connect.Settings, err error) {
	if url, err = s.url(); err != nil {
		return "", settings, err
	}
	if strings.HasPrefix(strings.ToLower(url), "memory:") {
		return "", settings, exit(exitUsage, "memory:// lives inside one process, which is this one")
	}
	s.tellDefault()
	if settings.TLS, err = s.tls.config(); err == nil {
		url, settings.Credentials, err = s.credentials(url)
	}
	return url, settings, err
}

// tellDefault says once which server is used if nobody has named one. On many machines that is
// as many servers, and no lock among them.
func (s *server) tellDefault() {
	if s.flag == "" && s.file == "" && !s.told {
		tell(errors.New("no server is named by " + serverVariable + " or --redis: using " + serverDefault))
	}
	s.told = true
}

// failed gives an error of the library the exit code that it deserves.
func failed(err error) error {
	if known, is := errors.AsType[*exitError](err); is {
		return known
	}
	if _, ok := errors.AsType[*redlatch.ConfigError](err); ok || errors.Is(err, redlatch.ErrInvalidName) {
		return &exitError{exitUsage, err}
	}
	return &exitError{exitFailure, err}
}

// closeClient closes a client. What it cannot release in time ends with its lease.
func closeClient(client *redlatch.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = client.Close(ctx)
}

// notices is a log of the client that tells the user which permissions the server refuses.
// It drops everything else.
type notices struct{}

func (notices) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (n notices) WithAttrs([]slog.Attr) slog.Handler             { return n }
func (n notices) WithGroup(string) slog.Handler                  { return n }

// Handle writes a line about a message that the server refuses to publish or to deliver.
func (notices) Handle(_ context.Context, r slog.Record) error {
	text := strings.TrimPrefix(r.Message, "redlatch: ")
	refused := strings.HasPrefix(text, "the server refused to publish")
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(", %s %v", a.Key, a.Value)
		err, _ := a.Value.Any().(error)
		refused = refused || script.Code(err) == "NOPERM"
		return true
	})
	if refused {
		tell(errors.New(text))
	}
	return nil
}
