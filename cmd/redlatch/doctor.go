package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect/doctor"
	"github.com/redlatch/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/protocol"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	server      server
	config      doctor.Config
	strict, all bool
	asJSON      bool
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [URL…]",
		Short: "Find what makes locks unsafe on a server, and how to mend it",
		Long: `doctor examines the server of --redis, or each server URL, for example all
members of a Quorum. It examines each master of a Cluster, and the sentinels.
doctor writes nothing.

doctor looks at eviction, persistence, replicas, connections, rights, slow
commands, clocks and watchdogs. For each finding it prints what it saw, why that
matters for locks, and the command or setting that mends it.

A server may refuse a request. Some providers refuse CONFIG, and the user of an
application may lack the right. doctor then prints "unknown", and what to ask
the provider for.

With --json doctor prints one object a line for each check, also for those that
are ok.

Exit code:
  0   nothing is dangerous
  1   something is dangerous; with --strict also a warning
  2   the command line is wrong
  70  a server cannot be reached. doctor examines the others`,
		Example: "  redlatch doctor --redis redis://redis.example.org\n  redlatch doctor --json | jq 'select(.severity == \"danger\")'",
		Args:    fullURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			switch {
			case f.config.LeaseTime < time.Second/100:
				return exit(exitUsage, "--lease-time %v: at least 10ms", f.config.LeaseTime)
			case f.config.Replicas < 0:
				return exit(exitUsage, "--replicas %d: it is negative", f.config.Replicas)
			}
			if err := checkStdout(); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), urls)
		},
	}
	f.server.register(cmd)
	flags := cmd.Flags()
	durationVar(flags, &f.config.LeaseTime, "lease-time", "", 30*time.Second, "the lease of the clients (Config.LeaseTime)")
	intVar(flags, &f.config.Replicas, "replicas", "", 0, "how many replicas WithReplicas waits for (default 0: it is not used)")
	flags.StringVar(&f.config.Prefix, "prefix", "", "with which the names of the locks begin, to examine the rights on them")
	flags.BoolVar(&f.strict, "strict", false, "exit with 1 for warnings, too")
	flags.BoolVar(&f.all, "all", false, "print what is ok, too")
	jsonVar(cmd, &f.asJSON)
	return cmd
}

// fullURLs refuses an empty URL: it is often a shell variable that is not set.
func fullURLs(_ *cobra.Command, urls []string) error {
	if slices.Contains(urls, "") {
		return exit(exitUsage, "a URL is empty")
	}
	return nil
}

// run examines the servers and prints what was found.
func (f *doctorFlags) run(ctx context.Context, out io.Writer, urls []string) error {
	var targets []doctor.Target
	var checks []doctor.Check
	for i := range max(len(urls), 1) {
		s := f.server
		if len(urls) > 0 {
			s.flag, s.file = urls[i], ""
		}
		target, closeAll, err := f.open(ctx, &s)
		var exit *exitError
		var refused *driver.ServerError
		switch {
		case err == nil:
			defer closeAll()
			targets = append(targets, target)
		case errors.As(err, &exit) && exit.code == exitUsage:
			return err
		case errors.As(err, &refused) && refused.Code() == "NOPERM":
			checks = append(checks, doctor.NoRights(target, f.config, refused))
		case errors.Is(err, redlatch.ErrUnsupported):
			checks = append(checks, doctor.NotAtomic(target.Name, err))
		default:
			checks = append(checks, doctor.Unreachable(target.Name, err))
		}
	}
	checks = append(checks, doctor.Examine(ctx, f.config, targets...)...)
	if err := f.print(out, checks); err != nil {
		return err
	}
	return f.verdict(checks)
}

// open connects to a server, and to its sentinels. The name of the target is known also after an error.
// It is no client: the user may lack the right to name a connection.
func (f *doctorFlags) open(ctx context.Context, s *server) (t doctor.Target, closeAll func(), err error) {
	url, settings, err := s.reach()
	if err != nil {
		return t, nil, err
	}
	target, err := connect.Parse(url)
	if err != nil {
		return t, nil, failed(err)
	}
	t.Name, t.User = target.String(), target.Username()
	settings.CommandTimeout = doctorTimeout
	limited, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	d, err := target.Open(limited, settings)
	if err != nil {
		return t, nil, failed(err)
	}
	t.Driver = d
	sentinels, master := target.OpenSentinels(limited, settings)
	t.Master = master
	for _, one := range sentinels {
		t.Sentinels = append(t.Sentinels, doctor.Sentinel(one))
	}
	return t, func() {
		d.Close()
		for _, one := range sentinels {
			if one.Driver != nil {
				one.Driver.Close()
			}
		}
	}, nil
}

// doctorTimeout bounds each step of an examination.
const doctorTimeout = 3 * time.Second

// verdict is the exit code.
func (f *doctorFlags) verdict(checks []doctor.Check) error {
	failure, danger := false, false
	for _, c := range checks {
		failure = failure || c.Code == "reachable"
		danger = danger || c.Severity == doctor.Danger || f.strict && c.Severity == doctor.Warning
	}
	switch {
	case failure:
		return &exitError{code: exitFailure}
	case danger:
		return &exitError{code: exitHeld}
	}
	return nil
}

// print prints the checks, server by server.
func (f *doctorFlags) print(out io.Writer, checks []doctor.Check) error {
	if f.asJSON {
		return printJSON(out, checks...)
	}
	var text strings.Builder
	counts := make(map[doctor.Severity]int)
	last := "\x00"
	for _, c := range checks {
		counts[c.Severity]++
		if c.Severity == doctor.OK && !f.all {
			continue
		}
		if c.Server != last {
			last = c.Server
			fmt.Fprintf(&text, "%s\n", protocol.Line(map[bool]string{true: "all servers", false: last}[last == ""]))
		}
		text.WriteString(describeCheck(c))
	}
	fmt.Fprintf(&text, "%d danger, %d warning, %d unknown, %d note, %d ok\n", counts[doctor.Danger], counts[doctor.Warning], counts[doctor.Unknown], counts[doctor.Note], counts[doctor.OK])
	_, err := io.WriteString(out, text.String())
	return err
}

// describeCheck is a check in words.
func describeCheck(c doctor.Check) string {
	text := fmt.Sprintf("  %-8s%s: %s\n", c.Severity, c.Code, protocol.Line(c.Seen))
	if c.Severity == doctor.OK {
		return text
	}
	return text + fmt.Sprintf("          %s\n          mend: %s\n          see:  %s\n", protocol.Line(c.Why), protocol.Line(c.Mend), c.Page)
}
