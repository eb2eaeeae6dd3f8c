//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// consoleProcess is a running console.
type consoleProcess struct {
	*testing.T
	cmd    *exec.Cmd
	url    string
	stderr *output
}

// startConsole starts the verb, and returns when it has printed its address.
func startConsole(t *testing.T, flags ...string) *consoleProcess {
	t.Helper()
	return startConsoleOn(t, redistest.Start(t).URL(), flags...)
}

// startConsoleOn is startConsole for a server that is there.
func startConsoleOn(t *testing.T, url string, flags ...string) *consoleProcess {
	t.Helper()
	c := &consoleProcess{T: t, stderr: new(output)}
	c.cmd = exec.Command(redistest.Must(os.Executable()), append([]string{"console", "--redis", url}, flags...)...)
	c.cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	c.cmd.Stderr = c.stderr
	stdout := redistest.Must(c.cmd.StdoutPipe())
	redistest.Must(0, c.cmd.Start())
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("it printed %q: %v\n%s", line, err, c.stderr)
	}
	c.url = strings.TrimSpace(line)
	return c
}

// token waits until the token is on stderr.
func (c *consoleProcess) token() (token string) {
	c.Helper()
	pattern := regexp.MustCompile(`(?m)^token: ([A-Z2-7]{52})\n.*#token=`)
	redistest.Eventually(c, 20*time.Second, func() bool {
		found := pattern.FindStringSubmatch(c.stderr.String())
		if found != nil {
			token = found[1]
		}
		return found != nil
	}, "a token on stderr")
	return token
}

// get asks for a page, and returns the status and, for one that ends, its text.
func (c *consoleProcess) get(client *http.Client, path, token string) (int, string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 20*time.Second)
	c.Cleanup(cancel)
	r := redistest.Must(http.NewRequestWithContext(ctx, "GET", c.url+path, nil))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer := redistest.Must(client.Do(r))
	c.Cleanup(func() { answer.Body.Close() })
	if path == "events" {
		return answer.StatusCode, ""
	}
	return answer.StatusCode, string(redistest.Must(io.ReadAll(answer.Body)))
}

// Goal: the page is served, and SIGTERM ends the console at once, also while somebody looks.
func TestTheConsoleServesItsPageAndEndsBySIGTERM(t *testing.T) {
	t.Parallel()
	c := startConsole(t, "--listen", "127.0.0.1:0")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if code, text := c.get(client, "", ""); code != 200 || !strings.Contains(text, "<title>redlatch console</title>") {
		t.Errorf("the page: %d %.100s", code, text)
	}
	if code, _ := c.get(client, "events", ""); code != 200 {
		t.Errorf("the stream: %d", code)
	}
	redistest.Must(0, c.cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v\n%s", err, c.stderr)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it has not ended")
	}
}

// Goal: an address that other machines can reach is encrypted, and says nothing without the token.
func TestAConsoleForOtherMachinesNeedsTLSAndItsToken(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	c := startConsole(t, "--listen", "0.0.0.0:0", "--listen-cert", cert, "--listen-key", key)
	_, port, _ := net.SplitHostPort(strings.Trim(strings.TrimPrefix(c.url, "https://"), "/"))
	c.url = "https://127.0.0.1:" + port + "/"
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(redistest.Must(os.ReadFile(cert)))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for token, want := range map[string]int{"": 401, "wrong": 401, c.token(): 200} {
		if code, _ := c.get(client, "story?lock=x", token); code != want {
			t.Errorf("with the token %q: %d, want %d", token, code, want)
		}
	}
}

// Goal: a certificate that is being renewed, or cannot be read any more, does not shut viewers out, and
// the log says so.
func TestAConsoleKeepsItsLastCertificate(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	c := startConsole(t, "--listen", "127.0.0.1:0", "--listen-cert", cert, "--listen-key", key)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(redistest.Must(os.ReadFile(cert)))
	redistest.Must(0, os.WriteFile(key, []byte("half a key"), 0o600))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	if code, _ := c.get(client, "", ""); code != 200 {
		t.Errorf("the page: %d", code)
	}
	redistest.Eventually(t, 10*time.Second, func() bool { return strings.Contains(c.stderr.String(), "certificate cannot be read") }, "the log says so")
}

// Goal: 0.0.0.0 is all addresses of IPv4 and none of IPv6, and the link leads somewhere.
func TestAConsoleListensOnNoMoreThanItWasTold(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	c := startConsole(t, "--listen", "0.0.0.0:0", "--listen-cert", cert, "--listen-key", key)
	host, port, _ := net.SplitHostPort(strings.Trim(strings.TrimPrefix(c.url, "https://"), "/"))
	if host != "127.0.0.1" { // as the certificate says
		t.Errorf("the link has the host %s", host)
	}
	if conn, err := net.DialTimeout("tcp", net.JoinHostPort("::1", port), 5*time.Second); err == nil {
		conn.Close()
		t.Error("it listens on IPv6")
	}
}

// Goal: the token is printed only where there is something to do with it.
func TestTheConsolePrintsATokenIfLocksCanBeTakenAway(t *testing.T) {
	t.Parallel()
	if without := startConsole(t, "--listen", "localhost:0"); strings.Contains(without.stderr.String(), "token") {
		t.Errorf("a console that takes nothing away: %s", without.stderr)
	}
	one, other := startConsole(t, "--listen", "[::1]:0", "--allow-unlock").token(), startConsole(t, "--listen", "127.0.0.1:0", "--allow-unlock").token()
	if one == other {
		t.Error("two consoles have the same token")
	}
}

// Goal: a console behind a proxy answers to the name of the proxy, and its token outlives it.
func TestAConsoleBehindAProxyHasANameAndAToken(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("kept", 8)
	file := t.TempDir() + "/token"
	redistest.Must(0, os.WriteFile(file, []byte(token+"\n"), 0o600))
	c := startConsole(t, "--listen", "127.0.0.1:0", "--allow-unlock", "--token-file", file, "--host", "locks.example.org")
	for host, want := range map[string]int{"locks.example.org": 200, "other.example.org": 421} {
		r := redistest.Must(http.NewRequestWithContext(t.Context(), "GET", c.url, nil))
		r.Host = host
		answer := redistest.Must(http.DefaultClient.Do(r))
		text := string(redistest.Must(io.ReadAll(answer.Body)))
		answer.Body.Close()
		if answer.StatusCode != want || want == 421 && !strings.Contains(text, "--host") {
			t.Errorf("%s: %d %.200s", host, answer.StatusCode, text)
		}
	}
	for given, want := range map[string]int{token: 400, "wrong": 401} { // 400: there is no body
		r := redistest.Must(http.NewRequestWithContext(t.Context(), "POST", c.url+"unlock", nil))
		r.Header.Set("Authorization", "Bearer "+given)
		answer := redistest.Must(http.DefaultClient.Do(r))
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("the token %q: %d", given, answer.StatusCode)
		}
	}
	if strings.Contains(c.stderr.String(), token) {
		t.Error("it prints the token of a file")
	}
}

// Goal: the demonstration shows its own locks on a page, and ends with it.
func TestLongTheDemoHasAConsole(t *testing.T) {
	t.Parallel()
	p := startDemo(t, "--console", "--workers", "3", "--for", "4s", "--lease", "800ms", "--work", "5ms")
	found := regexp.MustCompile(`console (http://127\.0\.0\.1:\d+/)`)
	p.await(found.String())
	c := &consoleProcess{T: t, url: found.FindStringSubmatch(p.said())[1]}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer := redistest.Must(client.Do(redistest.Must(http.NewRequestWithContext(ctx, "GET", c.url+"events", nil))))
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body) // until the demonstration ends
	if !strings.Contains(string(text), `"name":"redlatch:demo:`) {
		t.Errorf("the stream lacks the lock: %.500s", text)
	}
	<-p.exited
	if code := p.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, p.said(), p.stderr.String())
	}
}

// Goal: a console that cannot reach Redis at its start says so and ends, rather than serve an empty page.
func TestAConsoleWithoutRedisEndsAtItsStart(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), redistest.Must(os.Executable()), "console", "--redis", "redis://127.0.0.1:1", "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	text, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 70 || !strings.Contains(string(text), "connection refused") || strings.Contains(string(text), "http://") {
		t.Errorf("exit code %d: %s", code, text)
	}
}
