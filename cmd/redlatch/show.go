package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

func newShow() *cobra.Command {
	var f inspecting
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print everything that is known about one lock or semaphore",
		Long: `show prints everything that is known about the lock NAME. It changes nothing.
Beside what status prints, it prints:

  - the process of each holder, and its address
  - the remaining time of each hold of a reader
  - what a holder says of its hold, who asks it for the lock, why, and whether
    the holder knows
  - how many processes wait
  - what the watchdogs know about a holder
  - what is wrong with the lock

show knows the process of an owner if that is a redlatch client with a
connection. Java processes do not name their connections.

If NAME is a semaphore or a latch, show prints its number: the permits that are
available, or the count. Of a semaphore with leased permits it also prints how
many permits there are, the id and the remaining time of each permit in use, and
how many processes wait. Redis does not know who has a permit. An open latch has
no key, so it looks like a free lock.

With --json show prints one object, with the fields of status --json and others.
A semaphore or a latch has other fields: see docs/inspect.md.

Exit code:
  0   the lock is held or free, or NAME is a semaphore or a latch
  2   the command line is wrong
  70  Redis failed, or the key has other data`,
		Example: "  redlatch show nightly-report\n  redlatch show --json encoders | jq .available",
		Args:    oneName,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, func(ctx context.Context, i *inspect.Inspector) error { return f.show(ctx, cmd, i, args[0]) })
	}
	f.register(cmd)
	return cmd
}

func (f *inspecting) show(ctx context.Context, cmd *cobra.Command, i *inspect.Inspector, name string) error {
	l, c, err := find(ctx, i, name)
	switch {
	case c.Kind != "":
		return f.print(cmd, c, everythingOf(c))
	case err == nil:
		return f.print(cmd, l, everything(l))
	case len(l.Findings) > 0:
		if err := f.print(cmd, l, everything(l)); err != nil {
			return err
		}
	}
	return failed(err)
}

// find reads what a name stands for: a lock, or else a semaphore or a latch.
func find(ctx context.Context, i *inspect.Inspector, name string) (l inspect.Lock, c inspect.Counter, err error) {
	l, err = i.Lock(ctx, name)
	other := errors.Is(err, redlatch.ErrWrongType)
	if err != nil && !other || l.Mode != "" {
		return l, c, err
	}
	c, failure := i.Counter(ctx, name)
	var answer *driver.ServerError
	switch {
	case failure == nil:
		return l, c, err
	case other && !errors.Is(failure, redlatch.ErrWrongType):
		return inspect.Lock{}, c, failure
	case other && errors.As(failure, &answer) && answer.Code() == "NOTLOCK":
		_, why, _ := strings.Cut(answer.Message, " ")
		err = fmt.Errorf("%w; it is no semaphore or latch either: %s", err, why)
	}
	return l, c, err
}

// kinds are what may stand under a name, and the verb that prints it.
var kinds = map[inspect.Kind][2]string{
	inspect.KindMutex:     {"a mutex", "status"},
	inspect.KindFair:      {"a fair lock", "status"},
	inspect.KindReadWrite: {"a read-write lock", "status"},
	inspect.KindPermits:   {"a semaphore with leased permits", "show"},
	inspect.KindCounter:   {"the number of a semaphore or a latch", "show"},
}

// ofKind is an error of any verb. If the key is of another kind than the verb wants, it names that kind.
func ofKind(ctx context.Context, d driver.Driver, name string, err error) error {
	if !errors.Is(err, redlatch.ErrWrongType) {
		return err
	}
	i, failure := inspect.New(d, inspect.Config{})
	if failure != nil {
		return err
	}
	l, c, _ := find(ctx, i, name)
	kind, known := kinds[cmp.Or(c.Kind, l.Kind)]
	if !known {
		return err
	}
	return fmt.Errorf("%q: %w: it is %s, which redlatch %s %s prints", name, redlatch.ErrWrongType, kind[0], kind[1], protocol.ShellWord(name))
}

// print prints an object, or a text instead.
func (f *inspecting) print(cmd *cobra.Command, object any, text string) error {
	return printAs(cmd.OutOrStdout(), f.asJSON, object, text)
}

// everything is a lock in words, a line for each thing.
func everything(l inspect.Lock) string {
	var text strings.Builder
	add := func(title, format string, args ...any) {
		fmt.Fprintf(&text, "  %-9s %s\n", title, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&text, "%s: %s\n", protocol.Show(l.Name), headline(l))
	if l.Kind != "" {
		add("kind", "%s", l.Kind)
	}
	for _, h := range l.Holders {
		add(map[bool]string{true: "writer", false: "holder"}[h.Write], "%s", holderLine(h))
		text.WriteString(notedLines(h.Noted))
	}
	if more := l.Owners - len(l.Holders); more > 0 {
		add("", "and %d more", more)
	}
	for n, w := range l.Queue {
		add(fmt.Sprintf("waits %d.", n+1), "%s, counts as alive until %s", process(w.Owner, w.Process), w.Deadline.UTC().Format(time.RFC3339))
	}
	if more := l.Queued - len(l.Queue); more > 0 {
		add("", "and %d more", more)
	}
	if l.Waiting >= 0 {
		add("waiting", "%s", processes(l.Waiting))
	}
	if l.Token > 0 {
		add("token", "%d", l.Token)
	}
	for _, one := range l.Findings {
		add("finding", "%s: %s", one.Code, one.Text)
	}
	return text.String()
}

// headline says in a few words how a lock is.
func headline(l inspect.Lock) string {
	switch {
	case len(l.Findings) > 0 && l.Findings[0].Code == inspect.CodeWrongType:
		return "no lock"
	case l.Mode == "":
		return "free"
	case l.Owners > 1 && l.Mode == "read":
		return fmt.Sprintf("held by %d readers, %s", l.Owners, left(l.TTL))
	}
	return fmt.Sprintf("held, %s, %s", l.Mode, left(l.TTL))
}

func holderLine(h inspect.Holder) string {
	text := fmt.Sprintf("%s, count %d, %s", process(h.Owner, h.Process), h.Count, left(h.TTL))
	if len(h.Holds) > 1 {
		var all []string
		for _, one := range h.Holds {
			all = append(all, one.Round(100*time.Millisecond).String())
		}
		text += " (of each hold: " + strings.Join(all, ", ") + ")"
	}
	return text + protectionOf(h.Protection)
}

// notedLines are a line for a note, and one for a recall.
func notedLines(n inspect.Noted) (lines string) {
	if n.Note != "" {
		lines = "  note      " + protocol.Line(n.Note) + "\n"
	}
	if n.Recall != nil {
		knows := map[bool]string{true: "which it knows", false: "which it does not know yet"}[n.Told]
		lines += fmt.Sprintf("  recalled  by %s, %s: %s\n", protocol.Show(cmp.Or(n.Recall.Author, "somebody")), knows, protocol.Line(n.Recall.Reason))
	}
	return lines
}

func protectionOf(p *inspect.Protection) string {
	switch {
	case p == nil:
		return ""
	case p.Alive:
		return ", protected"
	case p.Dead:
		return ", dead since " + p.PausedSince.UTC().Format(time.RFC3339)
	case p.Watchdog == "":
		return ", paused since " + p.PausedSince.UTC().Format(time.RFC3339) + ", and no watchdog renews it"
	}
	return ", paused since " + p.PausedSince.UTC().Format(time.RFC3339) + ", renewed by watchdog " + protocol.Show(p.Watchdog)
}

// process is an owner with its process.
func process(owner string, p *inspect.Process) string {
	if p == nil {
		return protocol.Show(owner)
	}
	return fmt.Sprintf("%s (%s at %s)", protocol.Show(owner), protocol.Show(p.Name), protocol.Show(p.Addr))
}
