package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

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
	// cpu is its processor time.
	cpu time.Duration
}

func (w work) minus(before work) work {
	return work{w.scripts - before.scripts, w.others - before.others, w.cpu - before.cpu}
}

// work returns the totals since the server was started.
func (m *meter) work(ctx context.Context) (work, error) {
	text, err := m.info(ctx, "commandstats")
	if err != nil {
		return work{}, err
	}
	total := parseWork(text)
	if text, err = m.info(ctx, "cpu"); err != nil {
		return work{}, err
	}
	fields := parseFields(text)
	total.cpu = seconds(fields["used_cpu_user"]) + seconds(fields["used_cpu_sys"])
	return total, nil
}

// bytes returns how many bytes the server has received and sent since it was started.
func (m *meter) bytes(ctx context.Context) (int64, error) {
	text, err := m.info(ctx, "stats")
	if err != nil {
		return 0, err
	}
	fields := parseFields(text)
	in, _ := strconv.ParseInt(fields["total_net_input_bytes"], 10, 64)
	out, _ := strconv.ParseInt(fields["total_net_output_bytes"], 10, 64)
	return in + out, nil
}

// connections is the number of clients that are connected.
func (m *meter) connections(ctx context.Context) (float64, error) {
	text, err := m.info(ctx, "clients")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(parseFields(text)["connected_clients"], 64)
}

// command carries out a command and ignores what it answers.
func (m *meter) command(ctx context.Context, words ...string) error {
	return m.client.Do(ctx, m.client.B().Arbitrary(words...).Build()).Error()
}

// setting is the value of a setting of the server.
func (m *meter) setting(ctx context.Context, name string) (string, error) {
	values, err := m.client.Do(ctx, m.client.B().ConfigGet().Parameter(name).Build()).AsStrMap()
	return values[name], err
}

// ours are commands that come from a meter, or from making a connection.
var ours = map[string]bool{
	"info": true, "cluster": true, "config|get": true, "cluster|info": true, "cluster|slots": true, "cluster|shards": true, "cluster|meet": true, "cluster|addslotsrange": true, "hello": true, "ping": true, "auth": true, "select": true, "command": true,
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
	fields := parseFields(text)
	if v := fields["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	return "Redis " + fields["redis_version"]
}

// parseFields reads "name:value".
func parseFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	return fields
}

// seconds is the time that a server writes as "1.5".
func seconds(text string) time.Duration {
	n, _ := strconv.ParseFloat(text, 64)
	return time.Duration(math.Round(n * float64(time.Second)))
}

func (m *meter) info(ctx context.Context, section string) (string, error) {
	text, err := m.client.Do(ctx, m.client.B().Info().Section(section).Build()).ToString()
	if err != nil {
		return "", fmt.Errorf("ask the server for its %s: %w", section, err)
	}
	return text, nil
}
