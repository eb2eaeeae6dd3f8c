package main

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// Goal: a helper that hangs does not hang the benchmark. Method: a program that never answers, and a
// context that ends.
func TestHelperThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	h, err := startHelper(exec.Command("sleep", "60"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	returned := make(chan error, 1)
	go func() {
		_, err := helpers{h}.perform(ctx, []order{{Task: taskContend}}, nil, nil)
		returned <- err
	}()
	select {
	case err := <-returned:
		if err == nil {
			t.Error("it is said to have answered")
		}
	case <-time.After(10 * time.Second):
		h.kill()
		t.Error("it was not killed")
	}
	h.end()
}
