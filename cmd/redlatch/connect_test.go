//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a verb with -w waits for a server that is not there yet, and says so once. Method: the
// server dies, redlatch says that it waits, and the server comes back.
func TestAVerbWaitsForItsServer(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"run", "wait"} {
		server := redistest.Start(t)
		server.Kill()
		startWaiting(t, server, verb).untilServer(server, "connection refused; trying again for ")
	}
}

// startWaiting starts a verb that waits for a lock.
func startWaiting(t *testing.T, server *redistest.Server, verb string) *running {
	t.Helper()
	r := newRunning(t, server, "", "")
	r.command.Args = append(r.command.Args[:4], verb, "-w", "60", "job")
	if verb == "run" {
		r.command.Args = append(r.command.Args, "--", "true")
	}
	r.start()
	return r
}

// untilServer waits until it says that it waits for the server, and lets that come back.
func (r *running) untilServer(server *redistest.Server, said string) {
	r.t.Helper()
	redistest.Eventually(r.t, 20*time.Second, func() bool {
		text, _ := os.ReadFile(r.stderr)
		return strings.Contains(string(text), said)
	}, "it says that it waits")
	server.Restart(r.t)
	r.end(0, "trying again")
}

// Goal: a signal ends a verb that goes on, at once and with 0, also while it connects. Method: a server
// that accepts a connection and says nothing.
func TestASignalEndsAVerbThatConnects(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, verb := range []string{"top", "watch job", "console --listen 127.0.0.1:0"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			silent := redistest.Must(net.Listen("tcp", "127.0.0.1:0"))
			t.Cleanup(func() { silent.Close() })
			r := newRunning(t, server, "", "")
			r.command.Args = append(append(r.command.Args[:4], strings.Fields(verb)...), "--redis", "redis://"+silent.Addr().String())
			r.start()
			conn := redistest.Must(silent.Accept())
			t.Cleanup(func() { conn.Close() })
			redistest.Must(0, r.command.Process.Signal(syscall.SIGTERM))
			r.end(0)
		})
	}
}

// Goal: the wait for a server goes on as long as it may help.
func TestWhichErrorsOfAServerPass(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"LOADING Redis is loading the dataset in memory": true,
		"MASTERDOWN Link with MASTER is down":            true,
		"CLUSTERDOWN The cluster is down":                true,
		"ERR max number of clients reached":              true,
		"WRONGPASS invalid username-password pair":       false,
		"ERR invalid password":                           false,
		"NOTLOCK it is a read-write lock":                false,
	} {
		if got := !permanent(fmt.Errorf("connect: %w", &driver.ServerError{Message: message})); got != want {
			t.Errorf("%s passes: %v", message, got)
		}
	}
	if !permanent(&net.OpError{Op: "remote error", Err: tls.AlertError(116)}) { // certificate required
		t.Error("a server that wants a certificate is asked again")
	}
	if permanent(io.EOF) {
		t.Error("a connection that is closed is said to be so for good")
	}
}

// Goal: a verb with -w survives that its server is away for longer than a request takes, while it
// waits for the lock, and says so once.
func TestLongAVerbWaitsForItsServerAgain(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"run", "wait"} {
		server := redistest.Start(t)
		server.CLI(t, "HSET", "job", someOwner, "1")
		r := startWaiting(t, server, verb)
		redistest.Eventually(t, 10*time.Second, func() bool { return strings.Contains(server.CLI(t, "CLIENT", "LIST").(string), "cmd=evalsha") }, "it has asked for the lock")
		server.Kill()
		r.untilServer(server, "; trying again for ")
	}
}

// Goal: the wait for a server ends with -w, also if the server accepts connections and says
// nothing. Without -w a server that is not there is an error at once.
func TestTheWaitForAServerEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	hole := redistest.NewProxy(t, server.Addr())
	hole.Blackhole(true)
	env := commandEnv(t, server)
	guarded := redistest.Start(t, "--requirepass", "open")
	for _, c := range []struct {
		url, name, wait string
		code            int
		least, most     time.Duration
		said            string
	}{
		{"redis://127.0.0.1:1", "job", "700ms", exitFailure, 700 * time.Millisecond, 5 * time.Second, "; there was no server for 700ms\n"},
		{hole.URL(), "job", "700ms", exitFailure, 700 * time.Millisecond, 5 * time.Second, "; there was no server for 700ms\n"},
		{"redis://127.0.0.1:1", "job", "0", exitFailure, 0, 20 * time.Second, "connection refused\n"},
		{"redis://:secret@" + guarded.Addr(), "job", "1m", exitFailure, 0, 20 * time.Second, "WRONGPASS"},
		{"redis://:secret@" + server.Addr(), "job", "1m", exitFailure, 0, 20 * time.Second, "ERR AUTH"},
		{server.URL() + "/99", "job", "1m", exitFailure, 0, 20 * time.Second, "DB index is out of range"},
		{"redis+cluster://" + server.Addr(), "job", "1m", exitFailure, 0, 20 * time.Second, "cluster support disabled"},
		{server.URL(), "", "1m", exitUsage, 0, 20 * time.Second, "the name is empty"},
		{server.URL(), "job", "1ms", 0, 0, 20 * time.Second, ""},
	} {
		began := time.Now()
		said, code := askWith(t, env, "run", "-w", c.wait, "--redis", c.url, c.name, "--", "true")
		took := time.Since(began)
		if code != c.code || took < c.least || took > c.most || !strings.Contains(said, c.said) || strings.Contains(said, "secret") {
			t.Errorf("%s, -w %s: exit code %d after %v: %s", c.url, c.wait, code, took, said)
		}
	}
}

// Goal: what is left of -w after connecting is for the lock. Method: nobody can connect for more
// than half of it, and then the lock is held.
func TestLongTheWaitForTheServerCounts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "HSET", "job", someOwner, "1")
	door := redistest.NewProxy(t, server.Addr())
	door.Refuse(t, true)
	r := newRunning(t, server, "-w 4 --redis "+door.URL()+" job", "")
	began := time.Now()
	r.start()
	time.Sleep(2500 * time.Millisecond) // more than half of the wait
	door.Refuse(t, false)
	<-r.exited
	if code, took := shellCode(r.command.ProcessState), time.Since(began); code != exitHeld || took > 5500*time.Millisecond {
		t.Errorf("exit code %d after %v", code, took)
	}
}

// Goal: a free lock is not said to be held. Method: from nothing to a tenth of a millisecond is left
// of -w after connecting, which is too short for an answer of the server.
func TestAWaitThatIsTooShortForAnAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redistest.Must(redlatch.Open(t.Context(), server.URL(), redlatch.Config{}))
	defer client.Close(t.Context())
	for i := range 100 {
		p := &patience{limited: true, limit: time.Second, began: time.Now().Add(time.Duration(i)*time.Microsecond - time.Second)}
		hold, err := p.lock(t.Context(), client.Mutex("job"), nil)
		if errors.Is(err, redlatch.ErrUnknownOutcome) { // the server of a busy machine took too long
			redistest.Eventually(t, time.Minute, func() bool { return server.CLI(t, "EXISTS", "job") == int64(0) }, "what may have been taken is free")
			continue
		}
		if err != nil {
			t.Fatalf("with %d µs left: %v", i, err)
		}
		if err := hold.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Goal: the flags of TLS reach the connection. Method: a real server accepts clients with a
// certificate alone, and its own is signed by an authority that the system does not know.
func TestTheFilesOfTLS(t *testing.T) {
	t.Parallel()
	port := strconv.Itoa(redistest.Must(redistest.FreePort()))
	cert, key := selfSigned(t)
	stranger, _ := selfSigned(t)
	server := redistest.Start(t, "--tls-port", port, "--tls-auth-clients", "yes", "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	env := append(commandEnv(t, server), serverVariable+"=rediss://127.0.0.1:"+port)
	for _, c := range []struct {
		text  string
		code  int
		flags []string
	}{
		{"job: free", 0, []string{"--tls-ca", cert, "--tls-cert", cert, "--tls-key", key}},
		{"unknown authority", exitFailure, nil},
		{"unknown authority", exitFailure, []string{"--tls-ca", stranger}},
		{"connect to redis", exitFailure, []string{"--tls-ca", cert}},
		{"--tls-cert and --tls-key come together", exitUsage, []string{"--tls-cert", cert}},
		{"--tls-ca: open " + cert + ".missing: no such file", exitUsage, []string{"--tls-ca", cert + ".missing"}},
		{"it has no certificate in PEM", exitUsage, []string{"--tls-ca", key}},
		{"--tls-cert " + key + ", --tls-key " + cert + ": ", exitUsage, []string{"--tls-cert", key, "--tls-key", cert}},
		{"the URL begins with redis://, which is not encrypted; use rediss://", exitUsage, []string{"--tls-ca", cert, "--redis", server.URL()}},
	} {
		wantSaid(t, env, c.code, c.text, append([]string{"status", "job"}, c.flags...)...)
	}
	// The authorities of the system count without --tls-ca, and not beside it.
	system := append(env, "SSL_CERT_FILE="+cert)
	wantSaid(t, system, 0, "job: free", "status", "job", "--tls-cert", cert, "--tls-key", key)
	wantSaid(t, system, exitFailure, "unknown authority", "status", "job", "--tls-ca", stranger, "--tls-cert", cert, "--tls-key", key)
	// A server that wants a certificate ends the wait at once, unless it resets the connection before
	// its reason is read. TestWhichErrorsOfAServerPass has the reason.
	wantSaid(t, env, exitFailure, "connect to redis", "run", "-w", "2", "--tls-ca", cert, "job", "--", "true")
	env = append(env, "REDLATCH_TLS_CA="+cert, "REDLATCH_TLS_CERT="+cert, "REDLATCH_TLS_KEY="+key)
	wantSaid(t, env, 0, "job: held", "run", "job", "--", "redlatch", "status", "job")
}

// selfSigned writes a certificate that signs itself, and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	own := redistest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redlatch"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der := redistest.Must(x509.CreateCertificate(rand.Reader, template, template, &own.PublicKey, own))
	private := redistest.Must(x509.MarshalECPrivateKey(own))
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", private)
}

// Goal: every verb reaches a server through its Unix socket, with the password of a file.
func TestTheCommandThroughAUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "socket") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, password := filepath.Join(dir, "redis.sock"), filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("open\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t, "--unixsocket", socket)
	server.CLI(t, "ACL", "SETUSER", "locker", "on", ">open", "~*", "&*", "+@all")
	env := append(commandEnv(t, server), serverVariable+"=unix://locker@"+socket+"?db=2", "REDLATCH_PASSWORD_FILE="+password)
	wantSaid(t, env, 0, "job: held", "run", "job", "--", "redlatch", "status", "job")
	wantSaid(t, env, 0, "", "wait", "job")
	server.CLI(t, "HSET", "job", someOwner, "1") // in another database
	wantSaid(t, env, 0, "job: free", "status", "job")
	wantSaid(t, env, exitFailure, socket+".missing: connect: no such file or directory", "status", "--redis", "unix://"+socket+".missing", "job")
	wantSaid(t, append(env, "REDLATCH_PASSWORD_FILE="), exitFailure, socket, "status", "job")
}
