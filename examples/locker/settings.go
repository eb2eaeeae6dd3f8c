package main

import (
	"flag"
	"fmt"
	"io"
	"time"
)

// settings are the flags of the command line.
type settings struct {
	listen   string
	redis    string
	watchdog time.Duration // the lease of a hold that is renewed
	delay    time.Duration // between reading and writing the stock
	times
}

// times says how long the experiments take.
type times struct {
	work  time.Duration // under the lock
	wait  time.Duration // for the lock, at most
	lease time.Duration // of a hold that is not renewed
}

// shortest is the shortest lease that redlatch accepts. It is checked here, so that a wrong
// flag is refused at the start and not by the first request.
const shortest = 10 * time.Millisecond

// readSettings reads the command line. For --help it prints the flags to out and returns
// flag.ErrHelp.
func readSettings(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("locker", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller reports errors
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to serve HTTP on")
	flags.StringVar(&s.redis, "redis", "memory://", "`URL` of the server: redis://host:6379, rediss://, or memory:// for one inside this process")
	flags.DurationVar(&s.work, "work", 70*time.Second, "how long a request works under its lock")
	flags.DurationVar(&s.wait, "wait", 100*time.Second, "how long try-lock waits at most")
	flags.DurationVar(&s.lease, "lease", 10*time.Second, "lease of try-lock and of a sale, not renewed")
	flags.DurationVar(&s.watchdog, "watchdog", 30*time.Second, "lease of lock, renewed every third of it")
	flags.DurationVar(&s.delay, "delay", 10*time.Millisecond, "time between reading and writing the stock")
	err := flags.Parse(args)
	switch {
	case err == flag.ErrHelp:
		fmt.Fprintln(out, "Usage of locker:")
		flags.SetOutput(out)
		flags.PrintDefaults()
		return s, err
	case err != nil:
		return s, err
	case flags.NArg() > 0:
		return s, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	return s, s.check()
}

func (s settings) check() error {
	for _, d := range []struct {
		flag         string
		value, least time.Duration
	}{
		{"work", s.work, 0},
		{"wait", s.wait, 0},
		{"delay", s.delay, 0},
		{"lease", s.lease, shortest},
		{"watchdog", s.watchdog, shortest},
	} {
		if d.value < d.least {
			return fmt.Errorf("--%s %v: at least %v", d.flag, d.value, d.least)
		}
	}
	return nil
}
