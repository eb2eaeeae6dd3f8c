package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// jsonVar adds the flag of a verb that prints.
func jsonVar(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON, one object a line")
}

// printJSON prints reports, each on one line.
func printJSON[T any](out io.Writer, reports ...T) error {
	for _, report := range reports {
		text, err := json.Marshal(report)
		if err == nil {
			_, err = fmt.Fprintln(out, printable(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printAs prints an object as JSON, or a text instead.
func printAs(out io.Writer, asJSON bool, object any, text string) error {
	if asJSON {
		return printJSON(out, object)
	}
	_, err := io.WriteString(out, text)
	return err
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

// statusReport is a status for scripts. Times are in milliseconds, -1 is no end. docs/cli.md
// describes the fields, which stay.
type statusReport struct {
	Lock      string         `json:"lock"`
	Locked    bool           `json:"locked"`
	Mode      string         `json:"mode"`
	TTLMillis int64          `json:"ttl_ms"`
	Token     int64          `json:"token"`
	Owners    int            `json:"owners"` // how many hold it
	Holders   []holderReport `json:"holders"`
	Queue     []waiterReport `json:"queue"` // of a fair lock, the next first
}

type waiterReport struct {
	Owner    string    `json:"owner"`
	Deadline time.Time `json:"deadline"` // until when it counts as alive, by the server's clock
	Name     string    `json:"name"`     // of its client, "" if unknown
}

type holderReport struct {
	Owner     string        `json:"owner"`
	Count     int           `json:"count"`
	Write     bool          `json:"write"`
	TTLMillis int64         `json:"ttl_ms"`
	Name      string        `json:"name"`   // of its client, "" if unknown
	Note      string        `json:"note"`   // what it says of its hold, "" if nothing
	Recall    *recallReport `json:"recall"` // what others ask of it, null if nothing
}

type recallReport struct {
	Author string `json:"author"`
	Reason string `json:"reason"`
	Told   bool   `json:"told"` // by a renewal of the holder
}

func newStatusReport(name string, status redlatch.Status) statusReport {
	report := statusReport{
		Lock: protocol.Argument(name), Locked: status.Locked, Mode: string(status.Mode),
		TTLMillis: millis(status.TTL), Token: status.Token, Owners: status.Owners,
		Holders: []holderReport{}, Queue: []waiterReport{},
	}
	for _, w := range status.Queue {
		report.Queue = append(report.Queue, waiterReport{protocol.Argument(w.Owner), w.Deadline.UTC(), w.Name})
	}
	for _, h := range status.Holders {
		one := holderReport{protocol.Argument(h.Owner), h.Count, h.Write, millis(h.TTL), h.Name, h.Note, nil}
		if h.Recall != nil {
			one.Recall = &recallReport{h.Recall.Author, h.Recall.Reason, h.Told}
		}
		report.Holders = append(report.Holders, one)
	}
	return report
}

func millis(ttl time.Duration) int64 {
	if ttl < 0 {
		return -1
	}
	return ttl.Milliseconds()
}
