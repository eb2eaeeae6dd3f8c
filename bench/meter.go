package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// meter asks the server what it has done. It has a connection of its own.
type meter struct {
	client rueidis.Client
}

func newMeter(address string) (*meter, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{address},
		ForceSingleClient: true,
		DisableCache:      true,
	})
	if err != nil {
		return nil, err
	}
	return &meter{client}, nil
}

func (m *meter) close() { m.client.Close() }

// work is what a server has carried out.
type work struct {
	scripts int64
	// others are all other commands: those inside the scripts, and those that
	// came without a script.
	others int64
}

func (w work) minus(before work) work {
	return work{w.scripts - before.scripts, w.others - before.others}
}

// work returns the totals since the server was started.
func (m *meter) work(ctx context.Context) (work, error) {
	text, err := m.info(ctx, "commandstats")
	if err != nil {
		return work{}, err
	}
	return parseWork(text), nil
}

// ours are commands that come from a meter, or from making a connection.
var ours = map[string]bool{
	"info": true, "hello": true, "ping": true, "auth": true, "select": true, "command": true,
	"client|setinfo": true, "client|setname": true, "client|tracking": true, "client|maint_notifications": true,
}

// parseWork reads "cmdstat_evalsha:calls=3,usec=…" and the like.
func parseWork(text string) work {
	var total work
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !found || ours[name] {
			continue
		}
		digits, _, _ := strings.Cut(rest, ",")
		calls, _ := strconv.ParseInt(digits, 10, 64)
		if name == "eval" || name == "evalsha" {
			total.scripts += calls
		} else {
			total.others += calls
		}
	}
	return total
}

// software is the server's name and version.
func (m *meter) software(ctx context.Context) (string, error) {
	text, err := m.info(ctx, "server")
	if err != nil {
		return "", err
	}
	return parseSoftware(text), nil
}

func parseSoftware(text string) string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	if v := fields["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	return "Redis " + fields["redis_version"]
}

func (m *meter) info(ctx context.Context, section string) (string, error) {
	text, err := m.client.Do(ctx, m.client.B().Info().Section(section).Build()).ToString()
	if err != nil {
		return "", fmt.Errorf("ask the server for its %s: %w", section, err)
	}
	return text, nil
}
