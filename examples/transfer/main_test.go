package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestNoMoneyIsLost(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), filepath.Join(t.TempDir(), "bank.db"), &out); err != nil {
		t.Fatalf("%v; it printed:\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "all accounts have 5000 cents together") {
		t.Errorf("it printed:\n%s", out.String())
	}
}
