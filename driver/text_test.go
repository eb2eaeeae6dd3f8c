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
