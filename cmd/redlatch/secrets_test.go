package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestURLsAreHandedDownWithoutPasswords(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://host:1/3":                 "redis://host:1/3",
		"redis://me:secret@host":           "redis://me@host",
		"redis://:se@cret@host:1":          "redis://host:1",
		"unix://me:secret@/run/x?db=3":     "unix://me@/run/x?db=3",
		"redis+cluster://u:secret@a:1,b/0": "redis+cluster://u@a:1,b/0",
		"rediss+sentinel://u:secret@a/m?sentinel_username=x&sentinel%5Fpassword=secret": "rediss+sentinel://u@a/m?sentinel_username=x",
		"redis://me:sec/secret@host":   "",
		"me:secret@host":               "",
		"redis://host?password=secret": "",
	} {
		want := map[bool][]string{true: nil, false: {serverVariable + "=" + want}}[want == ""]
		if got := handDown([]string{serverVariable + "=" + url}); !slices.Equal(got, want) {
			t.Errorf("%s is handed down as %q, want %q", url, got, want)
		}
	}
}

// Goal: no password is told. Method: the word secret stands where one stands, and is looked for
// in the help and in what every verb says of URLs that it cannot use.
func TestLongNoVerbTellsAPassword(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	wrong := []string{
		"memory://me:secret@name", "MEMORY://me:secret@name", "memory://x?secret", "redis://me:secret@" + server.Addr(),
		"redis+sentinel://" + server.Addr() + "/m?sentinel_password=secret", "redis://127.0.0.1:1/?password=secret",
		"http://me:secret@host", "redis://me:100%secret@host",
	}
	verbs := [][]string{{"status", "job"}, {"wait", "job"}, {"run", "job", "--", "true"}, {"unlock", "--force", "--yes", "job"}, {"demo"}, {"demo", "--pause"}}
	for _, url := range wrong {
		file := filepath.Join(t.TempDir(), "url")
		if err := os.WriteFile(file, []byte(url), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range verbs {
			flags := [][]string{{"--redis", url}, {"--redis-file", file}}
			if verb[0] == "demo" {
				flags = flags[:1]
			}
			for _, flag := range flags {
				wantNoSecret(t, commandEnv(t, server), append([]string{verb[0], flag[0], flag[1]}, verb[1:]...), false)
			}
		}
	}
	env := append(commandEnv(t, server), serverVariable+"=redis://me:secret@host")
	for _, verb := range verbs {
		wantNoSecret(t, env, []string{verb[0], "--help"}, true)
	}
}

func wantNoSecret(t *testing.T, env, arguments []string, good bool) {
	t.Helper()
	said, code := askWith(t, env, arguments...)
	if good != (code == 0) {
		t.Errorf("%q: exit code %d: %s", arguments, code, said)
	}
	if strings.Contains(said, "secret") {
		t.Errorf("%q tells the password: %s", arguments, said)
	}
}

// The log of a watchdog names its server, and no more.
func TestTheWatchdogLogsNoPassword(t *testing.T) {
	t.Parallel()
	sentinels := redistest.StartSentinels(t).Settle(t)
	d := startDog(t, "redis+sentinel://"+strings.Join(sentinels.Addrs(), ",")+"/"+sentinels.Name+"?sentinel_username=&sentinel_password=")
	d.awaitReady(true)
	redistest.Eventually(t, 5*time.Second, func() bool { return strings.Contains(d.log.String(), "/"+sentinels.Name+" ") }, "the log names the server")
	if log := d.log.String(); strings.Contains(log, "sentinel_password") {
		t.Errorf("the log is %s", log)
	}
}
