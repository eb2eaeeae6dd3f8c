package single_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestAConnectionToAnotherServerBreaksTheLinkFirst(t *testing.T) {
	t.Parallel()
	drivercheck.LinkBreaksFirst(t, func(dial drivercheck.Dialer) driver.Driver {
		return open(t, single.Options{Address: "name:1", Dial: func(ctx context.Context, address string) (net.Conn, error) {
			return dial(ctx, "tcp", address)
		}})
	})
}

func TestAPrimaryThatComesBackAsAReplicaIsNotAsked(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	drivercheck.ReplicaIsNotAsked(t, server, open(t, single.Options{Address: server.Addr(), CommandTimeout: time.Second}))
}

// Goal: no call waits for a dialer, or for credentials, that ignores its context, and neither does Close.
// What such a dialer makes later is closed. Method: it is held up by the test.
func TestNobodyWaitsForForeignCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Dial", "Credentials"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			var held atomic.Bool
			release := make(chan struct{})
			hold := func() {
				if held.Load() {
					<-release
				}
			}
			options := single.Options{Address: server.Addr(), CommandTimeout: 500 * time.Millisecond,
				Dial: func(_ context.Context, address string) (net.Conn, error) {
					if name == "Dial" {
						hold()
					}
					return net.Dial("tcp", address)
				},
			}
			if name == "Credentials" {
				options.Credentials = func(context.Context, string) (string, string, error) { hold(); return "", "", nil }
			}
			d := redistest.Must(single.Open(t.Context(), options))
			held.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = d.DedicatedPipeline(ctx, command("PING"))
				_, _ = d.Listen(ctx, driver.Events{})
				server.CLI(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
				_ = d.Do(ctx, command("PING"))
				_, _ = single.Open(ctx, options)
				d.Close()
			}()
			drivercheck.Within(t, ended, "every call and Close end")
			held.Store(false)
			close(release)
			redistest.Eventually(t, soon, func() bool { return connections(t, server) == 0 }, "late connections are closed")
		})
	}
}
