package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
)

func TestRepliesAreShownOnAShortLine(t *testing.T) {
	t.Parallel()
	list := func(items ...driver.Reply) driver.Reply { return driver.Reply{Array: items} }
	long := driver.Reply{Str: strings.Repeat("\n", 52<<20)}
	deep := driver.Reply{}
	for range 100_000 {
		deep = list(deep)
	}
	for want, reply := range map[string]driver.Reply{
		"0":                                   {},
		"-7":                                  {Int: -7},
		"nil":                                 {IsNil: true},
		`"a\nb"`:                              {Str: "a\nb"},
		"[]":                                  {Array: []driver.Reply{}},
		`[1 [nil "\x1b"]]`:                    list(driver.Reply{Int: 1}, list(driver.Reply{IsNil: true}, driver.Reply{Str: "\x1b"})),
		`error "ERR \n"`:                      {Err: errors.New("ERR \n")},
		`["` + strings.Repeat(`\n`, 99) + "…": list(long, long),
		strings.Repeat("[", 200) + "…":        deep,
		`[` + strings.Repeat("0 ", 99) + "0…": {Array: make([]driver.Reply, 1_000_000)},
	} {
		for _, got := range []string{reply.String(), fmt.Sprintf("%v", reply), fmt.Sprintf("%+v", reply)} {
			if got != want {
				t.Errorf("it is shown as %.400s, want %s", got, want)
			}
		}
	}
}

func TestErrorsDoNotNameScripts(t *testing.T) {
	t.Parallel()
	const readonly = "READONLY You can't write against a read only replica."
	for message, want := range map[string]string{
		readonly: readonly,
		readonly + " script: c664a3bf70bd1d45c4284ffebb65a6f2299bfc9f, on @user_script:7.":                                             readonly,
		"ERR Error running script (call to f_c664a3bf70bd1d45c4284ffebb65a6f2299bfc9f): @user_script:7: @user_script: 7: -" + readonly: readonly,
		"ERR no such script: x": "ERR no such script: x",
	} {
		if got := (&driver.ServerError{Message: message}).Error(); got != want {
			t.Errorf("%q is shown as %q", message, got)
		}
	}
}
