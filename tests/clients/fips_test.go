package clients_test

import (
	"crypto/fips140"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// inFIPSMode runs the calling test again in a process that may use approved cryptography
// alone, and reports whether this is that process.
func inFIPSMode(t *testing.T) bool {
	t.Helper()
	if fips140.Enforced() {
		return true
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), "GODEBUG=fips140=only")
	out, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("with GODEBUG=fips140=only: %v\n%s", err, out)
	}
	return false
}

// Goal: a program that is held to approved cryptography can use every kind of lock. Method: each
// is taken and given back, on a real server and on the embedded one.
func TestLocksWorkInFIPSMode(t *testing.T) {
	t.Parallel()
	if !inFIPSMode(t) {
		return
	}
	for _, url := range []string{redistest.Shared(t).URL(), "memory://", "memory://" + redistest.Name(t)} {
		c := fixture.Open(t, url, redlatch.Config{Protect: true})
		check.Must(c.PermitSemaphore("permits").TrySetPermits(t.Context(), 1))
		for _, k := range stage.LockKinds {
			check.Is(t, k.Name, check.Must(k.Lock(c, "job").Lock(t.Context(), redlatch.WithFencing())).Unlock(t.Context()), nil)
		}
		check.Is(t, "permit", check.Must(c.PermitSemaphore("permits").Acquire(t.Context())).Unlock(t.Context()), nil)
	}
}
