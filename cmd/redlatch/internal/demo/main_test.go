package demo

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// A test starts its own binary as a worker that talks all the time, or that fails.
const (
	talkative = "demo-test-talks"
	failing   = "demo-test-fails"
)

func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case talkative:
		for {
			if json.NewEncoder(os.Stdout).Encode(event{Kind: waiting}) != nil {
				os.Exit(1)
			}
		}
	case failing:
		os.Stderr.WriteString("the reason why\n")
		os.Exit(3)
	}
	redistest.Main(m)
}

var testBinary = must(os.Executable())

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }
