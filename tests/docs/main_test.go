package docs_test

import (
	"os"
	"testing"
)

// The tests run in the folder of the pages that they read.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../docs"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
