package clients_test

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// vault hands out a password that can be changed, and remembers for whom it was asked.
type vault struct {
	mu       sync.Mutex
	password string
	asked    map[string]bool
}

func (v *vault) credentials(_ context.Context, address string) (user, password string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked == nil {
		v.asked = map[string]bool{}
	}
	v.asked[address] = true
	return "locker", v.password, nil
}

// rotate changes the password everywhere, and ends all connections with the old one.
func (v *vault) rotate(t *testing.T, password string, servers ...*redistest.Server) {
	t.Helper()
	v.mu.Lock()
	v.password = password
	v.mu.Unlock()
	for _, s := range servers {
		s.CLI(t, "ACL", "SETUSER", "locker", "on", "resetpass", ">"+password, "~*", "&*", "+@all")
		s.CLI(t, "CLIENT", "KILL", "USER", "locker")
	}
}

// Goal: passwords can be rotated in every form of deployment. Method: the client locks
// before and after; a connection with an old password would be refused.
func TestLongPasswordsAreRotated(t *testing.T) {
	t.Parallel()
	single, cluster := redistest.Start(t), redistest.StartCluster(t, 3, 0)
	watched := redistest.StartSentinels(t).Settle(t)
	var members []*redistest.Server
	for _, m := range watched.Members {
		members = append(members, m.Server)
	}
	for _, c := range []struct {
		name, url string
		servers   []*redistest.Server
		asked     string
	}{
		{"single", single.URL(), []*redistest.Server{single}, single.Addr()},
		{"cluster", "redis+cluster://" + cluster.Servers[0].Addr(), cluster.Servers, cluster.Servers[1].Addr()},
		{"sentinel", "redis+sentinel://" + strings.Join(watched.Addrs(), ",") + "/" + watched.Name, members, watched.Primary(t).Addr()},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v vault
			v.rotate(t, "first", c.servers...)
			client := redistest.Must(redlatch.Open(t.Context(), c.url, redlatch.Config{Credentials: v.credentials}))
			defer client.Close(context.Background())
			for _, password := range []string{"second", "third"} {
				for range 10 { // on all servers of the cluster
					if err := redlatch.Do(t.Context(), client.Mutex(redistest.Name(t)), func(context.Context, *redlatch.Hold) error { return nil }); err != nil {
						t.Error(err)
					}
				}
				v.rotate(t, password, c.servers...)
			}
			if _, err := client.Mutex(redistest.Name(t)).TryLock(t.Context()); err != nil {
				t.Error(err)
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			if !v.asked[c.asked] {
				t.Errorf("asked for %v, want %s among them", v.asked, c.asked)
			}
		})
	}
}

// Goal: servers that cannot be reached under the names that they have can be reached
// under others. Method: the names of the URL lead nowhere; those that servers name are
// replaced by proxies.
func TestLongAddressesAreTranslated(t *testing.T) {
	t.Parallel()
	single, cluster := redistest.Start(t), redistest.StartCluster(t, 3, 0)
	watched := redistest.StartSentinels(t).Settle(t)
	ways := map[string]string{
		"single.invalid:1":  redistest.NewProxy(t, single.Addr()).Addr(),
		"cluster.invalid:1": redistest.NewProxy(t, cluster.Servers[2].Addr()).Addr(),
		"watch.invalid:1":   redistest.NewProxy(t, watched.Addrs()[0]).Addr(),
	}
	fronts := map[string]bool{}
	translated := func(addresses ...string) {
		for _, address := range addresses {
			ways[address] = redistest.NewProxy(t, address).Addr()
			fronts[address] = true
		}
	}
	translated(cluster.Addrs()...)
	translated(watched.Primary(t).Addr())
	for _, url := range []string{"redis://single.invalid:1", "redis+cluster://cluster.invalid:1", "redis+sentinel://watch.invalid:1/" + watched.Name} {
		var mu sync.Mutex
		used := map[string]bool{}
		client, err := redlatch.Open(t.Context(), url, redlatch.Config{AddressMap: func(address string) string {
			mu.Lock()
			defer mu.Unlock()
			used[address] = true
			if way := ways[address]; way != "" {
				return way
			}
			return address
		}})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		for range 10 {
			hold, err := client.Mutex(redistest.Name(t)).TryLock(t.Context())
			if err != nil {
				t.Errorf("%s: %v", url, err)
				continue
			}
			hold.Unlock(t.Context())
		}
		client.Close(context.Background())
		mu.Lock()
		known := 0
		for address := range used {
			if fronts[address] {
				known++
			}
		}
		mu.Unlock()
		if want := map[string]int{"redis": 0, "redis+cluster": 3, "redis+sentinel": 1}[url[:strings.Index(url, ":")]]; known != want {
			t.Errorf("%s: the addresses %v were translated, want %d that servers have named", url, used, want)
		}
	}
}

// Goal: what goes wrong with a connection is explained, and can be told apart.
func TestFailuresToConnectAreExplained(t *testing.T) {
	t.Parallel()
	plain := redistest.Shared(t)
	failing := errors.New("the vault is sealed")
	config := redlatch.Config{CommandTimeout: 2 * time.Second}
	for _, c := range []struct {
		name, url string
		change    func(*redlatch.Config)
		is        error
		text      string
	}{
		{"rediss at a plain port", "rediss://" + plain.Addr(), nil, rueidis.ErrNoTLS, "begins with redis://"},
		{"no credentials", plain.URL(), func(c *redlatch.Config) {
			c.Credentials = func(context.Context, string) (string, string, error) { return "", "", failing }
		}, failing, "credentials for " + plain.Addr()},
		{"a map that leads nowhere", plain.URL(), func(c *redlatch.Config) {
			c.AddressMap = func(string) string { return "" }
		}, nil, "AddressMap returned no host:port"},
	} {
		cfg := config
		if c.change != nil {
			c.change(&cfg)
		}
		client, err := redlatch.Open(t.Context(), c.url, cfg)
		if err == nil {
			client.Close(context.Background())
			t.Errorf("%s: no error", c.name)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %q, want %q in it", c.name, err, c.text)
		}
	}
}

func TestAClusterBehindAPlainURLIsExplained(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	client := redistest.Must(redlatch.Open(t.Context(), c.Servers[0].URL(), redlatch.Config{}))
	defer client.Close(context.Background())
	_, err := client.Mutex(c.KeyAt(t, c.Servers[1])).TryLock(t.Context())
	if refused, ok := errors.AsType[*driver.ServerError](err); !ok || refused.Code() != "MOVED" || !strings.Contains(err.Error(), "redis+cluster://") {
		t.Errorf("error %v, want MOVED and the right form of the URL", err)
	}
}

func TestSettingsThatDoNotSuitTheURLAreRefused(t *testing.T) {
	t.Parallel()
	credentials := func(context.Context, string) (string, string, error) { return "", "", nil }
	same := func(address string) string { return address }
	for _, c := range []struct {
		url, field string
		cfg        redlatch.Config
	}{
		{"redis://me:secret@127.0.0.1:1", "Credentials", redlatch.Config{Credentials: credentials}},
		{"memory://", "Credentials", redlatch.Config{Credentials: credentials}},
		{"memory://", "AddressMap", redlatch.Config{AddressMap: same}},
		{"redis://127.0.0.1:1", "TLS", redlatch.Config{TLS: &tls.Config{}}},
		{"memory://", "TLS", redlatch.Config{TLS: &tls.Config{}}},
		{"redis://127.0.0.1:1?db=3", "url", redlatch.Config{}},
	} {
		_, err := redlatch.Open(t.Context(), c.url, c.cfg)
		if wrong, ok := errors.AsType[*redlatch.ConfigError](err); !ok || wrong.Field != c.field || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, want a ConfigError for %s", c.url, err, c.field)
		}
		if c.field == "url" && !strings.Contains(err.Error(), "redis://host:port/3") {
			t.Errorf("error %v does not name the right form", err)
		}
	}
}
