package main

import (
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the command works where approved cryptography alone is allowed.
func TestLongTheCommandWorksInFIPSMode(t *testing.T) {
	t.Parallel()
	env := append(commandEnv(t, redistest.Start(t)), "GODEBUG=fips140=only")
	for _, arguments := range [][]string{
		{"run", "--fencing", "job", "--", "true"},
		{"run", "--fair", "job", "--", "true"},
		{"run", "--shared", "table", "--", "true"},
		{"status", "job"},
		{"wait", "job"},
		{"unlock", "--force", "--yes", "job"},
		{"version"},
		{"demo", "--for", "3s", "--lease", "400ms"}, // on the embedded server
	} {
		if said, code := askWith(t, env, arguments...); code != 0 {
			t.Errorf("%q: exit code %d: %.2000s", arguments, code, said)
		}
	}
}
