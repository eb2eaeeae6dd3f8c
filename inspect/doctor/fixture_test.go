package doctor_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/inspect/doctor"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func connect(t testing.TB, o rueidis.Options) driver.Driver {
	t.Helper()
	d := redistest.Must(rueidis.Open(t.Context(), o))
	t.Cleanup(d.Close)
	return d
}

// examine examines one server.
func examine(t testing.TB, cfg doctor.Config, address string) []doctor.Check {
	t.Helper()
	return doctor.Examine(t.Context(), cfg, doctor.Target{Name: address, Driver: connect(t, rueidis.Options{Address: address})})
}

// found are the checks of a code, by their severity and what was seen.
func found(checks []doctor.Check, code string) (severity doctor.Severity, seen string) {
	for _, c := range checks {
		if c.Code == code {
			return c.Severity, c.Seen + " | " + c.Mend
		}
	}
	return "", "no check"
}

func want(t testing.TB, checks []doctor.Check, code string, severity doctor.Severity, words string) {
	t.Helper()
	if got, seen := found(checks, code); got != severity || !strings.Contains(seen, words) {
		t.Errorf("%s is %q: %s; want %q: %s", code, got, seen, severity, words)
	}
}

// fake is a server that answers from a list: by the command's words, or by its first word.
type fake struct {
	driver.Driver
	answers map[string]driver.Reply
	takes   time.Duration
	apart   *time.Duration // of its clock from this machine's; nil: it does not tell
}

var refused = driver.Reply{Err: &driver.ServerError{Message: "NOPERM no permissions"}}

func (f *fake) Pipeline(_ context.Context, commands ...driver.Command) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	time.Sleep(f.takes)
	for i, c := range commands {
		answer, ok := f.answers[strings.Join(c.Words, " ")]
		if !ok {
			answer, ok = f.answers[c.Words[0]]
		}
		switch {
		case c.Words[0] == "TIME" && f.apart != nil:
			now := time.Now().Add(*f.apart).UnixMicro()
			answer = list(text(now/1e6), text(now%1e6))
		case !ok:
			answer = refused
		}
		replies[i] = answer
	}
	return replies
}

func (f *fake) Do(ctx context.Context, command driver.Command) driver.Reply {
	return f.Pipeline(ctx, command)[0]
}

// told is a fake that answers INFO.
func told(info ...string) *fake {
	return &fake{answers: map[string]driver.Reply{"INFO": {Str: strings.Join(info, "\r\n")}}}
}

func (f *fake) examine(t testing.TB, cfg doctor.Config) []doctor.Check {
	return doctor.Examine(t.Context(), cfg, doctor.Target{Name: "fake", Driver: f})
}

func list(items ...driver.Reply) driver.Reply { return driver.Reply{Array: items} }

func text(n int64) driver.Reply { return driver.Reply{Str: strconv.FormatInt(n, 10)} }
