package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/redlatch/redlatch/internal/script"
)

// meter asks servers what they have done. It has connections of its own.
type meter []rueidis.Client

// newMeter asks the servers at these addresses, with commas between them.
func newMeter(addresses string) (m meter, err error) {
	for address := range strings.SplitSeq(addresses, ",") {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress:       []string{address},
			ForceSingleClient: true,
			DisableCache:      true,
		})
		if err != nil {
			m.close()
			return nil, err
		}
		m = append(m, client)
	}
	return m, nil
}

func (m meter) close() {
	for _, client := range m {
		client.Close()
	}
}

// What a server has counted since it was started.
const (
	countScripts     = "scripts"
	countOthers      = "other commands" // those inside the scripts, and those that came without a script
	countBytes       = "bytes"          // received and sent
	countCPU         = "CPU, µs"
	countConnections = "connections" // that are open now
	countTime        = "time of scripts and of what concerns channels, µs"
	countMainCPU     = "CPU of the main thread, µs"
)

// work is what all servers together have done.
func (m meter) work(ctx context.Context) (figures, error) {
	all := figures{}
	for _, client := range m {
		text, err := info(ctx, client)
		if err != nil {
			return nil, err
		}
		for name, count := range parseWork(text) {
			all[name] += count
		}
	}
	return all, nil
}

func info(ctx context.Context, client rueidis.Client) (string, error) {
	text, err := client.Do(ctx, client.B().Info().Section("all").Build()).ToString()
	if err != nil {
		return "", fmt.Errorf("ask the server what it has done: %w", err)
	}
	return text, nil
}

// ofOurselves are commands that come from a meter, or from making a connection.
var ofOurselves = map[string]bool{
	"info": true, "cluster": true, "config|get": true, "cluster|info": true, "cluster|slots": true, "cluster|shards": true, "cluster|meet": true, "cluster|addslotsrange": true, "hello": true, "ping": true, "auth": true, "select": true, "command": true,
	"client|setinfo": true, "client|setname": true, "client|tracking": true, "client|maint_notifications": true,
}

// parseWork reads "used_cpu_user:1.5" and "cmdstat_evalsha:calls=3,usec=7,…" and the like.
func parseWork(text string) figures {
	work := figures{}
	for name, value := range script.ReadInfo(text) {
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "used_cpu_user", "used_cpu_sys":
			work[countCPU] += number * 1e6
		case "used_cpu_user_main_thread", "used_cpu_sys_main_thread":
			work[countMainCPU] += number * 1e6
		case "total_net_input_bytes", "total_net_output_bytes":
			work[countBytes] += number
		case "connected_clients":
			work[countConnections] += number
		}
		command, found := strings.CutPrefix(name, "cmdstat_")
		if !found || ofOurselves[command] {
			continue
		}
		var calls, micros float64
		_, _ = fmt.Sscanf(value, "calls=%g,usec=%g", &calls, &micros)
		switch command {
		case "eval", "evalsha":
			work[countScripts] += calls
			work[countTime] += micros
			continue
		case "subscribe", "unsubscribe", "pubsub|numsub":
			work[countTime] += micros
		}
		work[countOthers] += calls
	}
	return work
}

// parseSoftware is the server's name and version.
func parseSoftware(text string) string {
	fields := script.ReadInfo(text)
	if v := fields["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	return "Redis " + fields["redis_version"]
}
