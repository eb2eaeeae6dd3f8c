package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlatch/redlatch/internal/redistest"
)

// TestScenarios runs the scripts in testdata/scenarios, each with a server of its own. In
// a script, redlatch is the command under test, and "code COMMAND…" runs a command and
// prints its exit code. Besides what testscript has, there are
//
//	until TEXT COMMAND…   run the command again and again until it prints TEXT
//	freeze, thaw          stop the server as a whole, and let it go on
//	forget                delete everything that the server has
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios:", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			testscript.Run(t, testscript.Params{
				Files:               []string{file},
				RequireExplicitExec: true,
				Setup:               func(env *testscript.Env) error { return setScene(env, server) },
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"until":  until,
					"freeze": func(*testscript.TestScript, bool, []string) { server.Freeze() },
					"thaw":   func(*testscript.TestScript, bool, []string) { server.Thaw() },
					"forget": func(*testscript.TestScript, bool, []string) { server.CLI(t, "FLUSHALL") },
				},
			})
		})
	}
}

// setScene gives a script its server, and this test binary under the name of the command.
func setScene(env *testscript.Env, server *redistest.Server) error {
	bin := filepath.Join(env.WorkDir, ".bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Symlink(self, filepath.Join(bin, "redlatch")); err != nil {
		return err
	}
	const code = "#!/bin/sh\n\"$@\"\necho \"code $?\"\n"
	if err := os.WriteFile(filepath.Join(bin, "code"), []byte(code), 0o755); err != nil {
		return err
	}
	env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("REDLATCH_REDIS", server.URL())
	env.Setenv(asCommand, "1")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each run takes a second
	return nil
}

// until runs a command until its output has a text in it.
func until(s *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		_ = s.Exec(args[1], args[2:]...)
		if strings.Contains(s.ReadFile("stdout"), args[0]) {
			return
		}
	}
	s.Fatalf("%q never showed up in the output of %q", args[0], args[1:])
}
