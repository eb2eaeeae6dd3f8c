package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Goal: whoever has an exit code finds what to do.
func TestTheHelpOnErrorsHasEveryExitCode(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, exitHeld, exitUsage, exitFailure, exitLost, exitCannotRun, exitNotFound} {
		if !strings.Contains(errorsHelp, fmt.Sprintf("\n  %-4d  ", code)) {
			t.Errorf("the help on errors lacks %d", code)
		}
	}
}

func TestAWaitForAPermitSaysHowManyThereAre(t *testing.T) {
	t.Parallel()
	if text := (&kind{permits: 1}).waitsFor(nil, "a")(t.Context()); text != `a permit of "a": 1 of 1 in use` {
		t.Error(text)
	}
}

// Goal: the help is readable at a terminal of 80 columns.
func TestTheHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard)
	for _, verb := range append(documented(root), root, newErrors()) {
		for line := range strings.Lines(verb.Long + "\n" + verb.UsageString()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", verb.Name(), n, line)
			}
		}
	}
}

// Goal: a flag's variable is not one that run sets for its command: a redlatch below it would
// read that as a flag.
func TestNoFlagReadsAVariableOfTheCommand(t *testing.T) {
	t.Parallel()
	told := []string{lockVariable, ownerVariable, deadlineVariable, tokenVariable, holdsVariable}
	for _, verb := range documented(newRoot(io.Discard)) {
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(told, variable(f.Name)) {
				t.Errorf("%s --%s is read from %s, which run sets", verb.Name(), f.Name, variable(f.Name))
			}
		})
	}
}

// Goal: every flag of these verbs can be set by its variable, but for those that have to be meant.
func TestEachFlagHasAVariable(t *testing.T) {
	for _, name := range []string{"run", "hold", "acquire", "extend", "release", "status", "wait", "unlock", "permits", "ls", "show", "top", "audit", "watch", "watchdog", "console", "doctor", "deadlocks", "verify"} {
		verb := verbOf(t, name)
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			value := map[string]string{"bool": "true", "int": "5", "duration": "5"}[f.Value.Type()]
			if value == "" {
				value = "some"
			}
			t.Setenv(variable(f.Name), value)
			fresh := verbOf(t, name)
			if err := fresh.PreRunE(fresh, nil); err != nil {
				t.Errorf("%s: %v", variable(f.Name), err)
			}
			if changed := fresh.Flags().Changed(f.Name); changed != hasVariable(f) {
				t.Errorf("%s --%s: set by its variable: %v", name, f.Name, changed)
			}
			t.Setenv(variable(f.Name), "")
		})
	}
}

// Goal: a variable that is set for one verb is a value that the others take, or do not read.
func TestEachVariableHasOneType(t *testing.T) {
	t.Parallel()
	types := map[string]string{}
	for _, verb := range documented(newRoot(io.Discard)) {
		if verb.PreRunE == nil {
			continue // it reads no variable
		}
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			if first := types[f.Name]; first != "" && first != f.Value.Type() && hasVariable(f) {
				t.Errorf("%s --%s is a %s, and that of another verb a %s", verb.Name(), f.Name, f.Value.Type(), first)
			}
			if hasVariable(f) {
				types[f.Name] = f.Value.Type()
			}
		})
	}
}

func verbOf(t *testing.T, name string) *cobra.Command {
	t.Helper()
	verb, _, err := newRoot(io.Discard).Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return verb
}
