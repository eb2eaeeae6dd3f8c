package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: Prometheus itself scrapes the metrics, evaluates the rules, and answers each expression of the
// dashboard. Method: a Prometheus of its own, that scrapes every 200 ms.
func TestPrometheusScrapesAndEvaluates(t *testing.T) {
	t.Parallel()
	binary := program(t, "prometheus")
	target := httptest.NewServer(service(t))
	t.Cleanup(target.Close)
	address := startPrometheus(t, binary, target.Listener.Addr().String())

	var up []struct{ Value [2]any }
	eventually(t, "both targets are scraped", func() bool {
		return ask(address, "query", url.Values{"query": {`count(redlatch_losses_total) and on() count(redlatch_watchdog_alive)`}}, &struct{ Result any }{&up}) == nil && len(up) > 0
	})
	for _, p := range readDashboard(t).Panels {
		for _, expression := range p.Targets {
			if err := ask(address, "query", url.Values{"query": {variables.Replace(expression.Expr)}}, &struct{}{}); err != nil {
				t.Errorf("panel %q: %v", p.Title, err)
			}
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	eventually(t, "the rules are evaluated", func() bool {
		if ask(address, "rules", nil, &rules) != nil || len(rules.Groups) < 2 {
			return false
		}
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if r.Health == "unknown" {
					return false
				}
			}
		}
		return true
	})
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				t.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
			}
		}
	}
}

// startPrometheus runs one until the end of the test, and returns its address.
func startPrometheus(t *testing.T, binary, target string) (address string) {
	t.Helper()
	address = net.JoinHostPort("127.0.0.1", strconv.Itoa(redistest.Must(redistest.FreePort())))
	rules := redistest.Must(filepath.Abs(rulesFile))
	dir := t.TempDir()
	config := fmt.Sprintf(`global: {scrape_interval: 200ms, evaluation_interval: 200ms}
rule_files: [%q]
scrape_configs:
  - {job_name: orders, static_configs: [{targets: [%[2]q]}]}
  - {job_name: watchdogs, metrics_path: /watchdog/metrics, static_configs: [{targets: [%[2]q]}]}
`, rules, target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(binary, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("%s", &log)
		}
	})
	return address
}

// ask asks the API of Prometheus.
func ask(address, what string, values url.Values, into any) error {
	client := http.Client{Timeout: 5 * time.Second}
	got, err := client.Get("http://" + address + "/api/v1/" + what + "?" + values.Encode())
	if err != nil {
		return err
	}
	defer got.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	if err := json.NewDecoder(got.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", values, answer.Error)
	}
	return nil
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
