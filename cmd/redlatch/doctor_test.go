package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// runDoctor runs the verb on a URL and returns what it printed and its exit code.
func runDoctor(t *testing.T, server *redistest.Server, arguments ...string) (output string, code int) {
	t.Helper()
	env := commandEnv(t, server)
	var bin string
	for _, one := range env {
		if path, ok := strings.CutPrefix(one, "PATH="); ok {
			bin, _, _ = strings.Cut(path, string(filepath.ListSeparator))
		}
	}
	command := exec.CommandContext(t.Context(), filepath.Join(bin, "redlatch"), append([]string{"doctor", "--all"}, arguments...)...)
	command.Env = append(os.Environ(), env...)
	text, _ := command.CombinedOutput()
	return string(text), command.ProcessState.ExitCode()
}

func TestDoctorEndsOnAFrozenServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Freeze()
	defer server.Thaw()
	began := time.Now()
	output, code := runDoctor(t, server)
	if took := time.Since(began); code != exitFailure || !strings.Contains(output, "danger  reachable") || took > 20*time.Second {
		t.Errorf("exit code %d after %v:\n%s", code, took, output)
	}
}

func TestDoctorExaminesEachMasterOfACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.SharedCluster(t)
	output, _ := runDoctor(t, cluster.Servers[0], "--redis", "redis+cluster://"+strings.Join(cluster.Addrs(), ","))
	for _, server := range cluster.Servers {
		if !strings.Contains(output, "\n"+server.Addr()+"\n") && !strings.HasPrefix(output, server.Addr()+"\n") {
			t.Errorf("%s was not examined:\n%s", server.Addr(), output)
		}
	}
	if !strings.Contains(output, "ok      server-clocks") {
		t.Error("the clocks were not compared")
	}
}

func TestDoctorExaminesTheSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	s.Sentinels[2].Kill()
	output, code := runDoctor(t, s.Members[0].Server, "--redis", "redis+sentinel://"+strings.Join(s.Addrs(), ",")+"/"+s.Name)
	for _, words := range []string{
		s.Addrs()[0] + "\n", "ok      sentinels: 3 sentinels, the quorum is 2", "ok      sentinel-primary",
		s.Addrs()[2] + "\n  warning sentinels: the sentinel does not answer", "warning replicas: it has 2 replicas",
	} {
		if !strings.Contains(output, words) {
			t.Errorf("it does not say %q", words)
		}
	}
	if code != exitHeld || t.Failed() {
		t.Errorf("exit code %d:\n%s", code, output)
	}
}
