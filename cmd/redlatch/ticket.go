package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// acquireFlags are the flags of acquire.
type acquireFlags struct {
	acquiring
	lease   time.Duration
	fencing bool
}

func newAcquire() *cobra.Command {
	var f acquireFlags
	cmd := &cobra.Command{
		Use:   "acquire [flags] NAME",
		Short: "Take a lock, and print a ticket for it",
		Long: `acquire waits until it has the lock NAME, prints a ticket, and ends. The lock
stays for the time of --lease. Nobody renews it. Other processes use the ticket:

  redlatch run --ticket FILE -- COMMAND  run a command under the lock, renew the
                                         lock, and release it in the end
  redlatch extend --ticket FILE          have the lock stay for longer
  redlatch release --ticket FILE         release the lock

FILE has the ticket, and - is stdin. Without --ticket they take the ticket that
the variable REDLATCH_TICKET has. Whoever has the ticket and reaches the server
can release the lock: keep it out of logs and command lines.

Exit code:
  0   the ticket was printed
  1   others hold the lock or all permits, and the wait is over
  2   the command line is wrong
  70  redlatch failed: Redis cannot be reached, or the key has other data`,
		Example: "  umask 077; redlatch acquire deploy >ticket\n  redlatch acquire -n --lease 1h deploy >ticket",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.lease < minLease || f.lease > longest {
				return exit(exitUsage, "--lease %v: from %v to %v", f.lease, minLease, longest)
			}
			options := []redlatch.LockOption{redlatch.WithLease(f.lease)}
			if f.fencing {
				options = append(options, redlatch.WithFencing())
			}
			return f.held(cmd, args[0], options, func(hold *redlatch.Hold, _ <-chan os.Signal) error { return f.print(cmd, hold) })
		},
	}
	f.register(cmd, "a lock that others hold, or a wait for the server")
	flags := cmd.Flags()
	durationVar(flags, &f.lease, "lease", "", 10*time.Minute, "for how long the lock stays, from now on")
	_ = flags.SetAnnotation("lease", goesWith+"permits", nil) // not renewed in any case
	flags.BoolVar(&f.fencing, "fencing", false, "take a fencing token with the hold, so that a store can refuse late writes")
	return cmd
}

// print prints the ticket of a hold. If it cannot be printed, nobody has it, and the lock is released.
func (f *acquireFlags) print(cmd *cobra.Command, hold *redlatch.Hold) error {
	ticket, err := hold.Ticket()
	if err != nil {
		return failed(err)
	}
	if _, err = fmt.Fprintln(cmd.OutOrStdout(), ticket); err == nil {
		return nil
	}
	if again, lost := f.client.Attach(context.Background(), ticket); lost == nil {
		_ = again.Unlock(context.Background())
	}
	return &exitError{exitFailure, err}
}

// ticketFlag is a verb's flag --ticket.
type ticketFlag struct{ given string }

const ticketVariable = "REDLATCH_TICKET"

func (f *ticketFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.given, "ticket", "", "`FILE` that has the ticket of acquire; - is stdin (default the ticket in $"+ticketVariable+")")
}

// noTicket refuses a command line that has a ticket, in front of the words of a command.
func noTicket(args []string) error {
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if at := strings.Index(arg, protocol.TicketPrefix); at >= 0 {
			if _, err := protocol.ParseTicket(strings.TrimSpace(arg[at:])); err == nil {
				return exit(exitUsage, "a ticket belongs into a file (--ticket FILE) or into %s; everybody on the machine can read it on the command line", ticketVariable)
			}
		}
	}
	return nil
}

// read reads the ticket. No message contains it.
func (f *ticketFlag) read() (text string, t protocol.Ticket, err error) {
	switch text = f.given; {
	case text == "":
		return "", t, exit(exitUsage, "no ticket: --ticket names its file, or %s has it", ticketVariable)
	case strings.HasPrefix(text, protocol.TicketPrefix): // of the variable
	default:
		in := os.Stdin
		if text != "-" {
			if in, err = os.Open(text); err == nil {
				defer in.Close()
			}
		}
		var read []byte
		if err == nil {
			read, err = io.ReadAll(io.LimitReader(in, 1<<16))
		}
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err // the name may be a part of a ticket
		}
		if err != nil {
			return "", t, exit(exitUsage, "--ticket: %w", err)
		}
		text = strings.TrimSpace(string(read))
	}
	if t, err = protocol.ParseTicket(text); err != nil {
		return "", t, exit(exitUsage, "the ticket is none: %w", err)
	}
	return text, t, nil
}

// use reads the ticket and connects, for a verb that uses it once.
func (f *ticketFlag) use(cmd *cobra.Command, s *server, verb func(ctx context.Context, client *redlatch.Client, ticket string) error) error {
	text, _, err := f.read()
	if err != nil {
		return err
	}
	return s.with(cmd.Context(), func(client *redlatch.Client) error {
		return ticketError(verb(cmd.Context(), client, text))
	})
}

// ticketError gives the error of a ticket its exit code.
func ticketError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redlatch.ErrLost):
		return &exitError{exitLost, err}
	}
	return failed(err)
}

const ticketHelp = `

Exit code:
  0   it was done
  2   the command line is wrong, or it is no ticket
  70  redlatch failed, for example because Redis cannot be reached
  75  the ticket is over: its lease has ended, or another process has used it`

func newExtend() *cobra.Command {
	var s server
	var ticket ticketFlag
	var lease time.Duration
	cmd := &cobra.Command{
		Use:   "extend [flags]",
		Short: "Have the lock of a ticket stay for longer",
		Long: `extend has the lock of a ticket stay for the time of --lease, from now on. It
never makes the time shorter. The ticket stays good.` + ticketHelp,
		Example: "  redlatch extend --ticket ticket\n  redlatch extend --ticket ticket --lease 1h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ticket.use(cmd, &s, func(ctx context.Context, client *redlatch.Client, text string) error {
				return client.ExtendTicket(ctx, text, lease)
			})
		},
	}
	s.register(cmd)
	ticket.register(cmd)
	durationVar(cmd.Flags(), &lease, "lease", "", 0, "for how long the lock stays, from now on (default: as acquire was told)")
	_ = cmd.Flags().SetAnnotation("lease", goesWith+"ticket", nil)
	return cmd
}

func newRelease() *cobra.Command {
	var s server
	var ticket ticketFlag
	cmd := &cobra.Command{
		Use:     "release [flags]",
		Short:   "Release the lock of a ticket",
		Long:    "release releases the lock of a ticket. The ticket is used up." + ticketHelp,
		Example: "  redlatch release --ticket ticket",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ticket.use(cmd, &s, func(ctx context.Context, client *redlatch.Client, text string) error {
				hold, err := client.Attach(ctx, text)
				if err != nil {
					return err
				}
				return hold.Unlock(ctx)
			})
		},
	}
	s.register(cmd)
	ticket.register(cmd)
	return cmd
}

// ticketLock is the lock of a ticket. To lock it is to attach it, whatever the options are.
type ticketLock struct {
	client       *redlatch.Client
	name, ticket string
}

func (l *ticketLock) Name() string { return l.name }

func (l *ticketLock) Lock(ctx context.Context, _ ...redlatch.LockOption) (*redlatch.Hold, error) {
	hold, err := l.client.Attach(ctx, l.ticket)
	if errors.Is(err, redlatch.ErrLost) {
		return nil, exit(exitLost, "%w; the command was not run", err)
	}
	return hold, err
}

func (l *ticketLock) TryLock(ctx context.Context, options ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.Lock(ctx, options...)
}

// read has the kind be that of a ticket, and returns the name of its lock.
func (k *kind) read(ticket *ticketFlag) (name string, err error) {
	text, t, err := ticket.read()
	if err != nil {
		return "", err
	}
	k.ticket = text
	if t.Kind == string(redlatch.KindPermit) {
		k.permits = 1 // of a number that nobody needs to know
	}
	return t.Name, nil
}
