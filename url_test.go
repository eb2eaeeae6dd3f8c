package redlatch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestURLsAreUnderstood(t *testing.T) {
	t.Parallel()
	const nobody = ` as "":"", sentinels as "":""`
	for url, want := range map[string]string{
		"redis://host":                         "redis://host:6379" + nobody,
		"REDIS://host/":                        "redis://host:6379" + nobody,
		"rediss://host:1/7":                    "rediss://host:1/7" + nobody,
		"redis://[::1]":                        "redis://[::1]:6379" + nobody,
		"redis://[fe80::1%25eth0]:7":           "redis://[fe80::1%eth0]:7" + nobody,
		"redis://:secret@host":                 `redis://host:6379 as "":"secret", sentinels as "":""`,
		"redis://me@host":                      `redis://host:6379 as "me":"", sentinels as "":""`,
		"redis://m%2Fe:a%40b:c+d%25@h":         `redis://h:6379 as "m/e":"a@b:c+d%", sentinels as "":""`,
		"redis://me:p@ss@host:1":               `redis://host:1 as "me":"p@ss", sentinels as "":""`,
		"memory://":                            "memory://" + nobody,
		"memory://name":                        "memory://name" + nobody,
		"redis+sentinel://host/locks":          "redis+sentinel://host:26379/locks" + nobody,
		"redis+sentinel://a,b:1,c/l/3/":        "redis+sentinel://a:26379,b:1,c:26379/l/3" + nobody,
		"redis+sentinel://[::1]:1,[::2]/a%2Fb": "redis+sentinel://[::1]:1,[::2]:26379/a/b" + nobody,
		"rediss+sentinel://me:my@a,b/l?sentinel_username=you&sentinel_password=yo%26u+r": `rediss+sentinel://a:26379,b:26379/l` +
			` as "me":"my", sentinels as "you":"yo&u+r"`,
		"redis+sentinel://a/l?sentinel_password=x": `redis+sentinel://a:26379/l as "":"", sentinels as "":"x"`,
		"redis+cluster://a":                        "redis+cluster://a:6379" + nobody,
		"redis+cluster://me:my@a:1,b,c:3/":         `redis+cluster://a:1,b:6379,c:3 as "me":"my", sentinels as "":""`,
		"rediss+cluster://a,b/0":                   "rediss+cluster://a:6379,b:6379" + nobody,
	} {
		if got, err := redlatch.ParseURL(url); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", url, got, err, want)
		}
	}
}

// TestWrongURLsTellNoSecrets: the word secret stands where a password may stand, or a
// part of it, after a mistake that is easily made.
func TestWrongURLsTellNoSecrets(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                           "no scheme",
		"host":                                       "no scheme",
		"me:secret@redis://host":                     "no scheme",
		"postgres://me:secret@host":                  `"postgres" is none of`,
		"sentinel+redis://me:secret@host":            "is none of",
		"redis://me:sec/secret@host":                 "%2F",
		"redis://me:sec?secret@host":                 "%3F",
		"redis+cluster://me:sec#secret@host,b":       "%23",
		"redis://me:100%secret@host":                 "%25",
		"redis://me:secret":                          "port",
		"redis+cluster://a,me:secret":                "port",
		"redis://:secret@":                           "no host",
		"redis+cluster://:secret@a,,b":               "no host",
		"redis+cluster://a,":                         "no host",
		"redis://a,b":                                "one host",
		"redis://::1":                                "in brackets",
		"redis://[::1":                               "not closed",
		"redis://a b":                                "a host is not written",
		"redis://a:0":                                "port",
		"redis+sentinel://a:65536/l":                 "port",
		"redis://a/x":                                `database "x"`,
		"redis://a/1/2":                              `database "1/2"`,
		"redis://a?db=1":                             "redis://host:port/3",
		"redis://a?timeout=1":                        `could follow "redis://a:6379"`,
		"redis://a/1#x":                              `could follow "redis://a:6379/1"`,
		"redis://:secret@a?sentinel_password=secret": `could follow "redis://a:6379"`,
		"redis+cluster://a/1":                        "no database but 0",
		"redis+cluster://a?x=y":                      "could follow",
		"redis+sentinel://me:secret@a":               "does not name the master",
		"redis+sentinel://a//1":                      "does not name the master",
		"redis+sentinel://a/%zz":                     "does not name the master",
		"redis+sentinel://a/l/x":                     `database "x"`,
		"redis+sentinel://a/l/-1":                    `database "-1"`,
		"redis+sentinel://a/l?sentinel_password=secret%z": "could follow",
		"redis+sentinel://a/l?sentinel_passwort=secret":   "sentinel_password=…",
		"redis+sentinel://a/l?sentinel_password=x#secret": "could follow",
		"memory://me:secret@name":                         "not by a user",
		"memory://name/secret":                            "not by a user",
		"memory://name?secret":                            "could follow",
	} {
		_, err := redlatch.Open(t.Context(), url, redlatch.Config{})
		var config *redlatch.ConfigError
		if !errors.As(err, &config) || config.Field != "url" || !strings.Contains(config.Reason, want) {
			t.Errorf("Open(%q) is %v, want a ConfigError for the url with %q", url, err, want)
		}
		if err != nil && strings.Contains(strings.ReplaceAll(err.Error(), "sentinel_password=…", ""), "secret") {
			t.Errorf("Open(%q) tells the password: %v", url, err)
		}
	}
}

// roundTrip has one client wait for the lock of another.
func roundTrip(t *testing.T, url string, cfg redlatch.Config) {
	t.Helper()
	a, b := open(t, url, cfg), open(t, url, cfg)
	h := must(a.Mutex("job").Lock(t.Context()))
	got := make(chan error, 1)
	go func() {
		h, err := b.Mutex("job").Lock(t.Context())
		if err == nil {
			err = h.Unlock(t.Context())
		}
		got <- err
	}()
	redistest.Eventually(t, 10*time.Second, func() bool { return b.Stats().Subscriptions == 1 }, "the other waits, with messages")
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the waiter does not get the lock")
	}
}

func TestLockThroughSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	roundTrip(t, "redis+sentinel://"+strings.Join(s.Addrs(), ",")+"/"+s.Name+"/2", redlatch.Config{})
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
		free := must(net.Listen("tcp", "127.0.0.1:0"))
		defer free.Close()
		_, port, _ := net.SplitHostPort(free.Addr().String())
		return free.Addr().String(), []string{"--tls-port", port, "--tls-auth-clients", "no", "--tls-replication", "yes",
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
