package main

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redlatch/redlatch/internal/protocol"
)

// durationVar adds a flag that is a number of seconds, as flock(1) has it, or a duration such
// as 1m30s.
func durationVar(flags *pflag.FlagSet, d *time.Duration, name, short string, usual time.Duration, usage string) {
	*d = usual
	flags.VarP(durationFlag{d}, name, short, usage)
}

type durationFlag struct{ *time.Duration }

func (f durationFlag) Type() string { return "duration" }

// String is the default in the help, where no default is empty.
func (f durationFlag) String() string {
	if *f.Duration == 0 {
		return ""
	}
	return f.Duration.String()
}

func (f durationFlag) Set(text string) (err error) {
	if strings.Trim(text, "+-.0123456789") == "" {
		text += "s"
	}
	*f.Duration, err = time.ParseDuration(text)
	return err
}

// intVar adds a flag that is a decimal number. That of pflag takes 010 for 8.
func intVar(flags *pflag.FlagSet, n *int, name, short string, usual int, usage string) {
	*n = usual
	flags.VarP((*intFlag)(n), name, short, usage)
}

type intFlag int

func (f *intFlag) Type() string   { return "int" }
func (f *intFlag) String() string { return strconv.Itoa(int(*f)) }

func (f *intFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	*f = intFlag(n)
	return err
}

// wrongValue says what a flag takes, after it was given something else, as in "--wait soon".
func wrongValue(f *pflag.Flag, given string) error {
	takes := map[string]string{
		"bool": "true or false", "int": "a whole number", "duration": "seconds or a duration, such as 5, 500ms or 1m30s",
		"stringSlice": "names, with commas in between",
	}
	return exit(exitUsage, "%s: it takes %s", given, takes[f.Value.Type()])
}

// readFile reads the file that a flag names. It is read for each connection, so a pipe would be
// waited for without end.
func readFile(flag, path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, exit(exitUsage, "--%s %s: only a regular file can be read for each connection", flag, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, exit(exitUsage, "--%s: %w", flag, err)
	}
	return text, nil
}

// asked are the flags that a command line alone can set: what they do has to be meant each time.
var asked = []string{"force", "yes", "allow-unlock", "set", "add", "help"}

// hasVariable says whether a flag is set by its variable. REDLATCH_PERMITS is the number of run and hold, and not the
// switch of ls and audit.
func hasVariable(f *pflag.Flag) bool {
	return !slices.Contains(asked, f.Name) && (f.Name != "permits" || f.Value.Type() == "int")
}

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "REDLATCH_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readEnvironment sets the flags that the command line does not set, from their variables. A
// flag of the command line is stronger than the variable of a rival. It also reads the names of locks.
func readEnvironment(cmd *cobra.Command, args []string) (wrong error) {
	for n, arg := range args {
		if n == 0 || cmd.Name() != "run" { // whose other arguments are the command's
			args[n] = protocol.ParseWord(arg)
		}
	}
	flags := cmd.Flags()
	if err := check(flags, func(flag string) string { return "--" + flag }); err != nil {
		return err
	}
	flags.VisitAll(func(f *pflag.Flag) {
		text := os.Getenv(variable(f.Name))
		if text == "" || f.Changed || !hasVariable(f) || rivalOf(flags, f.Name, isTyped) != "" {
			return
		}
		if err := flags.Set(f.Name, text); err != nil {
			wrong = cmp.Or(wrong, wrongValue(f, variable(f.Name)+"="+text))
		}
		_ = flags.SetAnnotation(f.Name, ofVariable, []string{})
	})
	return cmp.Or(wrong, check(flags, variable))
}

// check refuses rivals, and a flag that is empty: its value is often a shell variable that is
// not set. Without that flag another server may be used, or another login.
func check(flags *pflag.FlagSet, show func(flag string) string) (wrong error) {
	flags.VisitAll(func(f *pflag.Flag) {
		if rival := rivalOf(flags, f.Name, isOn); rival != "" && isOn(f) {
			wrong = cmp.Or(wrong, exit(exitUsage, "%s and %s exclude each other", show(f.Name), show(rival)))
		}
		empty, can := map[string]string{"string": "", "stringSlice": "[]"}[f.Value.Type()]
		if f.Changed && can && f.Value.String() == empty && f.Name != "listen" { // of the watchdog: nowhere
			wrong = cmp.Or(wrong, exit(exitUsage, "%s is empty", show(f.Name)))
		}
	})
	return wrong
}

// rivals are flags of which a command line has one at most.
var rivals = [][]string{{"redis", "redis-file"}, {"shared", "exclusive", "fair", "permits", "ticket"}, {"ticket", "fencing"}, {"ticket", "note"}, {"ticket", "lease"}, {"ticket", "max-hold"}, {"ticket", "at-least"}, {"ticket", "reentrant"}, {"ticket", "backoff"}, {"permits", "fencing"}, {"permits", "protect"}, {"permits", "lease"}, {"permits", "at-least"}, {"permits", "reentrant"}, {"nonblock", "wait"}, {"lease", "lease-time"}, {"lease", "max-hold"}, {"lease", "protect"}, {"backoff", "protect"}}

// rivalOf returns another flag of which that is so, or "".
func rivalOf(flags *pflag.FlagSet, name string, so func(*pflag.Flag) bool) string {
	for _, group := range rivals {
		for _, other := range group {
			if other != name && slices.Contains(group, name) && so(flags.Lookup(other)) && !together(flags, name, other) && !together(flags, other, name) {
				return other
			}
		}
	}
	return ""
}

// goesWith, and the name of a rival, annotates a flag of a verb for which the two are none.
const goesWith = "goes with "

func together(flags *pflag.FlagSet, name, other string) bool {
	f := flags.Lookup(name)
	if f == nil {
		return false
	}
	_, does := f.Annotations[goesWith+other]
	return does
}

// ofVariable annotates a flag that its variable has set.
const ofVariable = "of its variable"

// typed are the flags that the command line has set, and not to false.
func typed(flags *pflag.FlagSet) (names []string) {
	flags.Visit(func(f *pflag.Flag) {
		if isTyped(f) {
			names = append(names, f.Name)
		}
	})
	return names
}

// isTyped says that the command line has set a flag, and not to false.
func isTyped(f *pflag.Flag) bool { return isOn(f) && f.Annotations[ofVariable] == nil }

// isOn says that a flag was set, and not to false.
func isOn(f *pflag.Flag) bool { return f != nil && f.Changed && f.Value.String() != "false" }
