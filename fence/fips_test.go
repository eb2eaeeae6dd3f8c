package fence_test

import (
	"crypto/fips140"
	"os"
	"os/exec"
	"testing"
)

// The package is imported and its script run where approved cryptography alone is allowed.
func TestRedisGuardsInFIPSMode(t *testing.T) {
	t.Parallel()
	if fips140.Enforced() {
		t.Skip("it is enforced already")
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRedis", "-test.skip=FIPS", "-test.v")
	again.Env = append(os.Environ(), "GODEBUG=fips140=only")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("with GODEBUG=fips140=only: %v\n%s", err, out)
	}
}
