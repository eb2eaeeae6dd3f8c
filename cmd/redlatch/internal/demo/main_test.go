package demo

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// A test starts its own binary as an actor, as one that counts on and on, that fails, or that does nothing.
const (
	acting    = "demo-test-acts"
	talkative = "demo-test-talks"
	failing   = "demo-test-fails"
	idle      = "demo-test-idles"
)

func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case acting:
		must(0, Act(context.Background(), os.Stdin, os.Stdout, func(client *redlatch.Client, name string, _ bool) redlatch.Lock { return client.Mutex(name) }))
		os.Exit(0)
	case talkative:
		var t task
		must(0, json.NewDecoder(os.Stdin).Decode(&t))
		os.Stdout.WriteString("\nno event\n{\"kind\":\n")
		for n := int64(1); ; n++ {
			must(0, json.NewEncoder(os.Stdout).Encode(event{Kind: leave, Number: t.Number, Read: n}))
		}
	case failing:
		os.Stderr.WriteString("the reason why\n")
		os.Exit(3)
	case idle:
		must(io.Copy(io.Discard, os.Stdin))
		os.Exit(0)
	}
	redistest.Main(m)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contains checks that a text has all these parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}
