package single_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestOpenReportsTheServersRefusal(t *testing.T) {
	t.Parallel()
	const password, wrong = "correct-horse", "battery-staple"
	server := redistest.Start(t, "--requirepass", password, "--databases", "4")
	for _, c := range []struct {
		name    string
		options single.Options
		code    string
	}{
		{"wrong password", single.Options{Password: wrong}, "WRONGPASS"},
		{"unknown user", single.Options{Username: "nobody", Password: wrong}, "WRONGPASS"},
		{"no password", single.Options{}, "NOAUTH"},
		{"no such database", single.Options{Password: password, DB: 7}, "ERR"},
	} {
		c.options.Address = server.Addr()
		_, err := single.Open(t.Context(), c.options)
		if refused, ok := errors.AsType[*driver.ServerError](err); !ok || refused.Code() != c.code {
			t.Errorf("%s: %v, want a server error %s", c.name, err, c.code)
			continue
		}
		if !strings.Contains(err.Error(), server.Addr()) {
			t.Errorf("%s: %q does not name the address", c.name, err)
		}
		if strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %q gives the password away", c.name, err)
		}
	}

	d := open(t, single.Options{Address: server.Addr(), Password: password, DB: 3})
	redistest.Eventually(t, soon, func() bool {
		return strings.Count(do(t, d, "CLIENT", "LIST").Str, "id=") == 1
	}, "the refused connections are gone")
	if list := do(t, d, "CLIENT", "LIST").Str; !strings.Contains(list, " db=3 ") {
		t.Errorf("not in database 3: %s", list)
	}
}

func TestLogsInAsAUser(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "locker", "on", ">secret", "~*", "&*", "+@all", "-ping")
	d := open(t, single.Options{Address: server.Addr(), Username: "locker", Password: "secret"})
	if got := do(t, d, "ACL", "WHOAMI").Str; got != "locker" {
		t.Errorf("logged in as %q", got)
	}
	listener := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	listener.Close()
}

func TestOpenReportsARefusedConnection(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	_, err := single.Open(t.Context(), single.Options{Address: "127.0.0.1:1"})
	if _, ok := errors.AsType[*net.OpError](err); !ok || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("error %v", err)
	}
	wantTook(t, begin, 0, "a refused Open")
}

// Goal: a dialer that returns neither a connection nor an error, or panics, is an error that names the option.
func TestOpenReportsADialerThatFails(t *testing.T) {
	t.Parallel()
	for what, dial := range map[string]func(context.Context, string) (net.Conn, error){
		"nil": func(context.Context, string) (net.Conn, error) { return nil, nil }, "ouch": func(context.Context, string) (net.Conn, error) { panic("ouch") },
	} {
		_, err := single.Open(t.Context(), single.Options{Address: "x", Dial: dial})
		if wrong, is := errors.AsType[*driver.OptionError](err); !is || wrong.Option != "Dial" || !strings.Contains(wrong.Reason, what) {
			t.Errorf("error %v, want an OptionError that says %q", err, what)
		}
	}
}

// Goal: a function of the TLS configuration that panics costs the connection, which is closed.
func TestAHandshakeThatPanicsLeavesNoConnection(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	_, err := single.Open(t.Context(), single.Options{
		Address: "x", Dial: func(context.Context, string) (net.Conn, error) { return near, nil },
		TLS: &tls.Config{ServerName: "x", ClientSessionCache: panicking{}},
	})
	if wrong, is := errors.AsType[*driver.OptionError](err); !is || wrong.Option != "TLS" {
		t.Errorf("error %v, want an OptionError", err)
	}
	_ = far.SetReadDeadline(time.Now().Add(soon))
	if _, err := far.Read(make([]byte, 1)); err != io.EOF {
		t.Error("the connection is open:", err)
	}
}

type panicking struct{ tls.ClientSessionCache }

func (panicking) Get(string) (*tls.ClientSessionState, bool) { panic("ouch") }
