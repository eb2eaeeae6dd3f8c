package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

func newStatus() *cobra.Command {
	var s server
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Say who holds a lock, how often, for how much longer, and who waits",
		Long: `status says who holds the lock NAME, how often, and for how much longer: of a
read-write lock, each reader or the writer; of a fair lock, also who waits, in the
order of the queue. Waiters for other locks do not stand in Redis. It changes nothing.

Exit code: 0 whether it is held or free, 2 for a wrong command line, 70 if Redis
failed or the key is no lock.`,
		Args:              oneName,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := s.connect(cmd.Context(), redlatch.Config{})
			if err != nil {
				return err
			}
			defer closeClient(client)
			status, err := readStatus(cmd.Context(), client, args[0])
			if err != nil {
				return failed(err)
			}
			if asJSON {
				text, err := json.Marshal(newStatusReport(args[0], status))
				if err == nil {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(text))
				}
				return printed(err)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), protocol.Show(args[0])+": "+describe(status)+"\n"+details(status))
			return printed(err)
		},
	}
	s.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// oneName checks that a verb got the name of one lock.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit(exitUsage, "one NAME: redlatch %s", cmd.Use)
	}
	return nil
}

// readStatus reads the status of a lock of any kind. A mutex is a fair lock without a queue.
func readStatus(ctx context.Context, client *redlatch.Client, name string) (redlatch.Status, error) {
	status, err := client.FairMutex(name).Status(ctx)
	if errors.Is(err, redlatch.ErrWrongType) {
		if other, err := client.RWMutex(name).Status(ctx); err == nil {
			return other, nil
		}
	}
	return status, err
}

// describe is a status in words, on one line.
func describe(status redlatch.Status) string {
	n := len(status.Holders)
	switch {
	case !status.Locked:
		return "free"
	case status.Mode == "read" && n > 1:
		return fmt.Sprintf("held by %d readers, %s", n, left(status.TTL))
	case n == 0 || n > 2: // a writer reads beside itself, and nobody else does
		return fmt.Sprintf("held by %d owners, %s", n, left(status.TTL))
	}
	var holders []string
	for _, h := range status.Holders {
		text := fmt.Sprintf("%s, count %d", protocol.Show(h.Owner), h.Count)
		if status.Mode != "exclusive" {
			text += map[bool]string{true: ", writing", false: ", reading"}[h.Write]
		}
		holders = append(holders, text)
	}
	return "held by " + strings.Join(holders, "; ") + ", " + left(status.TTL)
}

// details are a line for each of several holders, and for each waiter.
func details(status redlatch.Status) string {
	var lines strings.Builder
	if len(status.Holders) > 1 {
		for _, h := range status.Holders {
			fmt.Fprintf(&lines, "  %-5s %s, count %d, %s\n", map[bool]string{true: "write", false: "read"}[h.Write], protocol.Show(h.Owner), h.Count, left(h.TTL))
		}
	}
	for i, w := range status.Queue {
		fmt.Fprintf(&lines, "  waits %d. %s, counts as alive until %s\n", i+1, protocol.Show(w.Owner), w.Deadline.UTC().Format(time.RFC3339))
	}
	return lines.String()
}

// printable is JSON with control characters escaped, so that a terminal does not obey them.
// Outside of its strings JSON has no such characters.
func printable(text []byte) string {
	var out strings.Builder
	for _, r := range string(text) {
		if strconv.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// left is a remaining time to live in words.
func left(ttl time.Duration) string {
	if ttl < 0 {
		return "without end"
	}
	return ttl.Round(100*time.Millisecond).String() + " left"
}

// statusReport is a status for scripts. Times are in milliseconds, -1 is no end.
type statusReport struct {
	Lock      string         `json:"lock"`
	Locked    bool           `json:"locked"`
	Mode      string         `json:"mode"`
	TTLMillis int64          `json:"ttl_ms"`
	Token     int64          `json:"token"`
	Holders   []holderReport `json:"holders"`
	Queue     []waiterReport `json:"queue"` // of a fair lock, the next first
}

type waiterReport struct {
	Owner    string    `json:"owner"`
	Deadline time.Time `json:"deadline"` // until when it counts as alive, by the server's clock
}

type holderReport struct {
	Owner     string `json:"owner"`
	Count     int    `json:"count"`
	Write     bool   `json:"write"`
	TTLMillis int64  `json:"ttl_ms"`
}

func newStatusReport(name string, status redlatch.Status) statusReport {
	report := statusReport{
		Lock: name, Locked: status.Locked, Mode: string(status.Mode),
		TTLMillis: millis(status.TTL), Token: status.Token,
		Holders: []holderReport{}, Queue: []waiterReport{},
	}
	for _, w := range status.Queue {
		report.Queue = append(report.Queue, waiterReport{w.Owner, w.Deadline.UTC()})
	}
	for _, h := range status.Holders {
		report.Holders = append(report.Holders, holderReport{h.Owner, h.Count, h.Write, millis(h.TTL)})
	}
	return report
}

func millis(ttl time.Duration) int64 {
	if ttl < 0 {
		return -1
	}
	return ttl.Milliseconds()
}
