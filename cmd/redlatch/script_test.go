package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlatch/redlatch/internal/redistest"
)

// The scenarios of testdata, each on a server of its own. Besides the words of testscript
// they have
//
//	exits CODE PROGRAM ARGUMENT…   runs a program, which must end with that exit code
//	redis WORD…                    sends a command to the server, whose reply is stdout
//	held NAME                      waits until somebody holds the lock
//	subscribed NAME                waits until somebody waits for the lock
//	until TEXT PROGRAM ARGUMENT…   runs a program again and again until it prints TEXT
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			server := redistest.Start(env.T().(testing.TB))
			env.Values["server"], env.Values["t"] = server, env.T()
			for _, one := range commandEnv(env.T().(testing.TB), server) {
				name, value, _ := strings.Cut(one, "=")
				env.Setenv(name, value)
			}
			page, err := filepath.Abs("../../deploy/redlatch.1")
			env.Setenv("MAN", page)
			env.Setenv("PORT", server.Addr()[strings.LastIndex(server.Addr(), ":")+1:])
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":      exits,
			"redis":      askRedis,
			"held":       awaitKey,
			"subscribed": awaitWaiter,
			"until":      until,
		},
	})
}

// commandEnv is the environment in which "redlatch" is the command, and the server its
// default.
func commandEnv(t testing.TB, server *redistest.Server) []string {
	t.Helper()
	self := redistest.Must(os.Executable())
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "redlatch")); err != nil {
		t.Fatal(err)
	}
	return []string{
		asCommand + "=1",
		serverVariable + "=" + server.URL(),
		"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"GORACE=atexit_sleep_ms=0", // otherwise each run takes a second
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	code, err := strconv.Atoi(args[0])
	if err != nil || neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENT…")
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = shellCode(ended.ProcessState), nil
	}
	if err != nil || got != code {
		ts.Fatalf("exit code %d, want %d: %v", got, code, err)
	}
}

// shellCode is how a process ended, as a shell shows it.
func shellCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return state.ExitCode()
}

func serverOf(ts *testscript.TestScript) *redistest.Server {
	return ts.Value("server").(*redistest.Server)
}

// say sends a command to the server.
func say(ts *testscript.TestScript, words ...string) any {
	return serverOf(ts).CLI(ts.Value("t").(testing.TB), words...)
}

func askRedis(ts *testscript.TestScript, neg bool, args []string) {
	fmt.Fprintln(ts.Stdout(), say(ts, args...))
}

func until(ts *testscript.TestScript, _ bool, args []string) {
	await(ts, args[0]+" is printed", func() bool {
		_ = ts.Exec(args[1], args[2:]...)
		return strings.Contains(ts.ReadFile("stdout"), args[0])
	})
}

func awaitKey(ts *testscript.TestScript, _ bool, args []string) {
	await(ts, "somebody holds "+args[0], func() bool { return say(ts, "EXISTS", args[0]) == int64(1) })
}

func awaitWaiter(ts *testscript.TestScript, _ bool, args []string) {
	await(ts, "somebody waits for "+args[0], func() bool { return subscribers(say(ts, numSub(args[0])...)) > 0 })
}

func await(ts *testscript.TestScript, what string, cond func() bool) {
	for limit := time.Now().Add(10 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			ts.Fatalf("not within 10 s: %s", what)
		}
	}
}

// numSub asks how many wait for a lock, and subscribers reads the answer.
func numSub(lock string) []string {
	return []string{"PUBSUB", "NUMSUB", "redisson_lock__channel:{" + lock + "}"}
}

func subscribers(reply any) int64 { return reply.([]any)[1].(int64) }
