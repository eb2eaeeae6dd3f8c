//go:build unix

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// The flags of a run whose lock is renewed every 1.3 s. If that stops, SIGTERM is due 3.1 s
// after the last renewal, SIGKILL after 3.5 s, and the lock ends after 4 s.
const shortLease = "--lease-time 4s --kill-after 400ms "

// Goal: all are gone before the lock ends in Redis, however the server is lost. A limit that is far away is not the
// cause.
func TestLongAServerThatIsLost(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(*redistest.Server, *redistest.Proxy){
		"frozen":  func(s *redistest.Server, _ *redistest.Proxy) { s.Freeze() },
		"cut off": func(_ *redistest.Server, p *redistest.Proxy) { p.Blackhole(true) },
		"dead":    func(s *redistest.Server, _ *redistest.Proxy) { s.Kill() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			r := startRunning(t, server, shortLease+"--max-hold 1m --redis "+proxy.URL()+" job", proctest.Stubborn)
			r.tree.AwaitStubborn()
			renewed := awaitRenewal(t, server, "job")
			lose(server, proxy)
			r.goneBefore(renewed.latestIfLost(time.Now(), 4*time.Second))
			if what == "cut off" { // the lock stays until its lease ends
				if now := newLook(t, server, "job"); now.left <= 0 && now.answered.Before(renewed.earliest()) {
					t.Error("the lock is free")
				}
			}
			ended := time.Now()
			r.end(exitLost, `redlatch: lock "job": Redis did not confirm the hold in time`, "the command was stopped", "Redis does not answer")
			if took := time.Since(ended); took > 2*time.Second { // one question, and no release, which takes 3s
				t.Errorf("redlatch ended %v after the command", took)
			}
		})
	}
}

// A slow reply to the request for the lock looks like no missing renewal: a limit that has come is the cause.
func TestALimitIsTheCauseAlsoOfASlowServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	proxy.Delay(250 * time.Millisecond)
	r := startRunning(t, server, "--lease-time 3s --max-hold 3s --redis "+proxy.URL()+" job", "sleep 1000")
	r.end(exitLost, `redlatch: lock "job": --max-hold 3s was over: the command was stopped before`)
}

// Goal: a limit is not the cause if Redis confirms the hold up to it only after the command was told to end. Method: the
// server goes on when that happens, and a renewal is due before SIGKILL.
func TestAConfirmationThatComesTooLateIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--lease-time 4s --kill-after 1500ms --max-hold 6s job", `trap 'echo told >&9' TERM; echo leader $$ >&9; while :; do sleep 0.05; done`)
	r.tree.Await("leader")
	server.Freeze()
	r.tree.Await("told")
	server.Thaw()
	r.end(exitLost, `lock "job": Redis did not confirm the hold in time`)
}

func TestAServerThatRestartsEmpty(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--lease-time 8s --kill-after 400ms job", proctest.Stubborn)
	r.tree.AwaitStubborn()
	renewed := awaitRenewal(t, server, "job")
	server.Restart(t)
	r.goneBefore(renewed.latestIfLost(time.Now(), 8*time.Second))
	r.end(exitLost, `lock "job": hold lost: the server was restarted, and has lost its data: the command was stopped; it is free now`)
}

func TestLongAnOutageThatIsShortEnoughIsNeverNoticed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, shortLease+"job", `
		trap 'echo told >&9' TERM
		trap 'exit 4' USR1
		echo leader $$ >&9
		while :; do sleep 0.05; done`)
	r.tree.Await("leader")
	awaitRenewal(t, server, "job")
	server.Freeze()
	time.Sleep(2 * time.Second) // a renewal fails
	server.Thaw()
	awaitRenewal(t, server, "job")
	r.command.Process.Signal(syscall.SIGUSR1)
	r.end(4)
	if said := r.tree.Said(); len(said) != 1 {
		t.Errorf("the command was told: %q", said)
	}
}

func TestALockThatIsForcedOpen(t *testing.T) {
	t.Parallel()
	for what, flags := range map[string]string{"renewed": shortLease, "fixed": "--lease 20s --kill-after 400ms "} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			redistest.Eventually(t, 10*time.Second, func() bool {
				info := server.CLI(t, "INFO", "server").(string)
				return !strings.Contains(info, "uptime_in_seconds:0") && !strings.Contains(info, "uptime_in_seconds:1\r")
			}, "the server has been up for longer than the lock is held")
			r := startRunning(t, server, flags+"job", proctest.Stubborn)
			r.tree.AwaitStubborn()
			server.CLI(t, "DEL", "job")
			server.CLI(t, "HSET", "job", "00000000-0000-4000-8000-000000000000:7", "1")
			r.tree.AwaitGone(20 * time.Second)
			r.end(exitLost, `lock "job": hold lost: somebody freed it`, "it is held by 00000000-0000-4000-8000-000000000000:7 now")
			if holder := server.CLI(t, "HGET", "job", "00000000-0000-4000-8000-000000000000:7"); holder != "1" {
				t.Errorf("the new holder's count is %v", holder)
			}
		})
	}
}

// The lock is lost, but the command ends before anybody notices: its success would be a
// false one.
func TestALossThatIsNoticedAtTheEndIsReported(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "job", `echo began >&9; while [ ! -e go ]; do sleep 0.02; done`)
	r.tree.Await("began")
	server.CLI(t, "DEL", "job")
	if err := os.WriteFile(filepath.Join(r.command.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.end(exitLost, `unlock "job": hold lost`, "the command had ended by then")
}

// Goal: a lock that is to stay is not taken anew to hide that it was lost.
func TestALossIsReportedAlsoIfTheLockIsToStay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--at-least 1m job", `echo began >&9; while [ ! -e go ]; do sleep 0.02; done`)
	r.tree.Await("began")
	server.CLI(t, "DEL", "job")
	if err := os.WriteFile(filepath.Join(r.command.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.end(exitLost, `hold lost`, "the command had ended by then")
	if server.CLI(t, "EXISTS", "job") != int64(0) {
		t.Error("the lock was taken anew")
	}
}

// What the command did it did under the lock, so its exit code stands.
func TestALockThatCannotBeGivenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "job", `echo began >&9; while [ ! -e go ]; do sleep 0.02; done; exit 6`)
	r.tree.Await("began")
	server.Freeze()
	if err := os.WriteFile(filepath.Join(r.command.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.end(6, `unlock "job"`, "the hold ends with its lease\n") // that of a ticket is not known here
}

func TestARedlatchThatIsKilledLeavesTheLockToItsLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--lease-time 2s job", `trap 'echo told >&9; exit' TERM; echo leader $$ >&9; while :; do sleep 0.05; done`)
	r.tree.Await("leader")
	renewed := awaitRenewal(t, server, "job")
	r.command.Process.Kill()
	if runtime.GOOS == "linux" {
		r.tree.Await("told")
		r.tree.AwaitGone(5 * time.Second)
	}
	if now := newLook(t, server, "job"); now.left <= 0 && now.answered.Before(renewed.earliest()) {
		t.Error("the lock is free")
	}
	next := startRunning(t, server, "--wait 10s job", `echo ran >&9`)
	next.end(0)
	if late := time.Since(renewed.earliest()); late < 0 || late > 5*time.Second {
		t.Errorf("the next one ended %v after the lease", late)
	}
}

// A redlatch that was paused for longer than the lease says what became of the command.
func TestLongACommandIsStoppedWhileItsRedlatchIsPaused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, shortLease+"job", proctest.Stubborn)
	r.tree.AwaitStubborn()
	stop := watched(t, server, "job")
	r.command.Process.Signal(redistest.SIGSTOP)
	r.tree.AwaitGone(10 * time.Second)
	if left := margin(stop(), r.tree.Last); left <= 0 {
		t.Errorf("somebody was there when the lock had %v left", left)
	}
	redistest.Eventually(t, 10*time.Second, func() bool { return server.CLI(t, "EXISTS", "job") == int64(0) }, "the lock is free")
	r.command.Process.Signal(redistest.SIGCONT)
	r.end(exitLost, `lock "job": redlatch stood still for`, "did not renew the hold: the command was stopped; it is free now")
}

// A command that its redlatch stops has begun its work, as one that ends by itself has.
func TestLongALockThatIsToStayStaysBehindACommandThatWasStopped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--lease-time 6s --at-least 1m job", `echo began >&9; exec sleep 60`)
	until := time.Now().Add(time.Minute)
	r.tree.Await("began")
	r.command.Process.Signal(redistest.SIGSTOP)
	r.tree.AwaitGone(10 * time.Second)
	r.command.Process.Signal(redistest.SIGCONT)
	r.end(exitLost, "redlatch stood still for")
	if left := server.PTTL(t, "job"); left < time.Until(until) {
		t.Errorf("the lock has %v left, and should stay for %v", left, time.Until(until))
	}
}

// What the command did it did under the lock, also if its redlatch learns of that much later.
func TestACommandThatEndsWhileItsRedlatchIsPaused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--lease-time 2s job", `echo began >&9; while [ ! -e go ]; do sleep 0.02; done; exit 6`)
	r.tree.Await("began")
	r.command.Process.Signal(redistest.SIGSTOP)
	if err := os.WriteFile(filepath.Join(r.command.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.tree.AwaitGone(5 * time.Second)
	redistest.Eventually(t, 10*time.Second, func() bool { return server.CLI(t, "EXISTS", "job") == int64(0) }, "the lock is free")
	r.command.Process.Signal(redistest.SIGCONT)
	r.end(6)
}

// After the command has ended, redlatch may die: the lock stays.
func TestALockThatIsToStayStaysWithoutItsRedlatch(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(r *running){
		"killed":   func(r *running) { r.command.Process.Kill(); <-r.exited },
		"signaled": func(r *running) { r.command.Process.Signal(syscall.SIGINT); r.end(7) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			r := startRunning(t, server, "--at-least 10s job", `echo ran >&9; exit 7`)
			until := time.Now().Add(10 * time.Second)
			r.tree.AwaitGone(10 * time.Second)
			time.Sleep(200 * time.Millisecond) // it waits, for the lease is longer
			end(r)
			if left := server.PTTL(t, "job"); left < time.Until(until) {
				t.Errorf("the lock has %v left, and should stay for %v", left, time.Until(until))
			}
		})
	}
}

// Arguments and the environment are bytes.
func TestTheCommandHasItsArgumentsAsTheyAre(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	out := filepath.Join(t.TempDir(), "out")
	long := strings.Repeat("x", 100_000)
	r := newRunning(t, server, "job", `printf '%s' "$1$ODD" >`+out+`; exit $((${#2} / 1000))`)
	r.command.Args = append(r.command.Args, "sh", "a\xff\n\"b", long)
	r.command.Env = append(r.command.Env, "ODD=\xfe=")
	r.start()
	r.end(100)
	if text, _ := os.ReadFile(out); string(text) != "a\xff\n\"b\xfe=" {
		t.Errorf("it had %q", text)
	}
}

func TestTheLockIsHeldUntilTheLastOfTheGroupIsGone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--kill-after 4s --quiet job", `
		sh -c 'trap "" TERM; echo left $$ >&9; while :; do sleep 1; done' &
		sleep 0.3`)
	r.tree.Await("left")
	redistest.Eventually(t, 10*time.Second, func() bool { return server.CLI(t, "EXISTS", "job") == int64(0) }, "the lock is free")
	if r.tree.IsThere() {
		t.Error("the lock is free, and somebody is there")
	}
	r.end(0)
}

func TestASignalEndsTheWaitAndLeavesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "HSET", "job", "00000000-0000-4000-8000-000000000000:7", "1")
	for _, number := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		r := startRunning(t, server, "job", `echo ran >&9`)
		redistest.Eventually(t, 10*time.Second, func() bool { return subscribers(server.CLI(t, numSub("job")...)) == 1 }, "it waits")
		r.command.Process.Signal(number)
		r.end(exitSignal + int(number)) // the lock is held for ever
		redistest.Eventually(t, 5*time.Second, func() bool { return subscribers(server.CLI(t, numSub("job")...)) == 0 }, "nobody listens")
	}
	if keys := server.Keys(t, "*"); len(keys) != 1 {
		t.Errorf("keys: %q", keys)
	}
	if count := server.CLI(t, "HLEN", "job"); count != int64(1) {
		t.Errorf("the lock has %v fields", count)
	}
	// wait ends in the same way.
	r := newRunning(t, server, "", "")
	r.command.Args = append(r.command.Args[:4], "wait", "job")
	r.start()
	redistest.Eventually(t, 10*time.Second, func() bool { return strings.Contains(clients(t, server), "cmd=eval") }, "it looks")
	r.command.Process.Signal(syscall.SIGINT)
	r.end(130)
}

// clients is the server's list of its connections.
func clients(t *testing.T, server *redistest.Server) string {
	return server.CLI(t, "CLIENT", "LIST").(string)
}

func TestASignalIsPassedOnAndTheCommandDecides(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "job", `
		trap 'echo gotINT >&9' INT
		trap 'echo gotTERM >&9; sleep 0.3; exit 12' TERM
		echo leader $$ >&9
		while :; do sleep 0.05; done`)
	r.tree.Await("leader")
	r.command.Process.Signal(syscall.SIGINT)
	r.tree.Await("gotINT")
	if server.CLI(t, "EXISTS", "job") != int64(1) {
		t.Error("the lock is free")
	}
	r.command.Process.Signal(syscall.SIGTERM)
	r.end(12)
	if got := strings.Join(r.tree.Said()[1:], " "); got != "gotINT gotTERM" {
		t.Errorf("it got %s", got)
	}
}

// As nohup starts it.
func TestASignalThatWasIgnoredStaysIgnored(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newRunning(t, server, "job", `kill -HUP $PPID $$; sleep 0.2; exit 5`)
	r.command.Args[2] = `trap '' HUP; ` + r.command.Args[2]
	r.start()
	r.end(5)
}

func TestABrokenPipeAtStderrChangesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	r := newRunning(t, server, "--lease 500ms job", `echo leader $$ >&9; exec sleep 1000`)
	r.command.Stderr = writer
	r.start()
	writer.Close()
	r.end(exitLost)
}

// Goal: many machines' crontabs start the same job at the same moment.
func TestRunsOfOneLockDoNotOverlap(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	log := filepath.Join(t.TempDir(), "log")
	var all []*running
	for range 6 {
		all = append(all, startRunning(t, server, "job", `echo in >>`+log+`; sleep 0.05; echo out >>`+log))
	}
	for _, r := range all {
		r.end(0)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("in\nout\n", 6); string(text) != want {
		t.Errorf("the log is %q", text)
	}
}
