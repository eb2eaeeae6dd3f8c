package clients_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// roundTrip has one client wait for the lock of another.
func roundTrip(t *testing.T, url string, cfg redlatch.Config) {
	t.Helper()
	cfg.PollCap = time.Hour
	fixture.HandOver(t, fixture.Open(t, url, cfg), fixture.Open(t, url, cfg), "job")
}

func TestLockThroughSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t).Settle(t)
	roundTrip(t, "redis+sentinel://"+strings.Join(s.Addrs(), ",")+"/"+s.Name+"/2", redlatch.Config{})

	proxy := redistest.NewProxy(t, s.Addrs()[0]) // the client begins before its sentinel
	proxy.Refuse(t, true)
	c, err := redlatch.Open(t.Context(), "redis+sentinel://"+proxy.Addr()+"/"+s.Name, fixture.Quiet(redlatch.Config{ConnectTimeout: -1}))
	fixture.ClosedAtEnd(t, c, err)
	proxy.Refuse(t, false)
	check.Is(t, "Unlock", check.Must(c.Mutex("job").Lock(t.Context())).Unlock(t.Context()), nil)
}

func TestLockInACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	roundTrip(t, "redis+cluster://"+strings.Join(c.Addrs(), ","), redlatch.Config{})
}

// TestLockThroughEncryptedSentinels runs a server and a sentinel that accept TLS, and
// know each other by their encrypted ports.
func TestLockThroughEncryptedSentinels(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(), t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate, key := ca.sign("server")
	encrypted := func() (address string, args []string) {
		port := strconv.Itoa(check.Must(redistest.FreePort()))
		return net.JoinHostPort("127.0.0.1", port), []string{"--tls-port", port, "--tls-auth-clients", "no", "--tls-replication", "yes",
			"--tls-cert-file", write("server.pem", certificate), "--tls-key-file", write("server.key", key),
			"--tls-ca-cert-file", write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.certificate.Raw}))}
	}
	primary, args := encrypted()
	redistest.Start(t, args...)
	watcher, args := encrypted()
	redistest.StartSentinel(t, args...).Watch(t, "locks", primary, 1)

	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	url, good := "rediss+sentinel://"+watcher+"/locks", redlatch.Config{TLS: &tls.Config{RootCAs: roots}}
	roundTrip(t, url, good)
	for what, cfg := range map[string]redlatch.Config{"no authority": {}, "another name": {TLS: &tls.Config{RootCAs: roots, ServerName: "elsewhere"}}} {
		if c, err := redlatch.Open(t.Context(), url, cfg); err == nil {
			t.Errorf("%s: connected", what)
			_ = c.Close(context.Background())
		}
	}
	if c, err := redlatch.Open(t.Context(), strings.Replace(url, "rediss", "redis", 1), good); err == nil {
		t.Error("connected without encryption")
		_ = c.Close(context.Background())
	}
}
