package main

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The samples in deploy start the watchdog and a job with flags that redlatch knows.
func TestTheSamplesOfDeployAreCommandLinesOfOurs(t *testing.T) {
	t.Parallel()
	unit := found(t, "../../deploy/redlatch-watchdog.service", `(?m)^ExecStart=/usr/local/bin/redlatch (.*)$`)
	var container []string
	if err := json.Unmarshal([]byte(found(t, "../../deploy/Containerfile", `(?m)^CMD (\[.*\])$`)), &container); err != nil {
		t.Fatal(err)
	}
	var pod []string
	if err := json.Unmarshal([]byte(found(t, "../../deploy/kubernetes/watchdog.yaml", `(?m)^ +args: (\[.*\])$`)), &pod); err != nil {
		t.Fatal(err)
	}
	job := strings.Fields(found(t, "../../deploy/redlatch-job.service", `(?m)^ExecStart=/usr/local/bin/redlatch (.*)$`))
	var cron []string
	if err := json.Unmarshal([]byte(found(t, "../../deploy/kubernetes/cronjob.yaml", `(?m)^ +args: (\[.*\])$`)), &cron); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string][]string{"unit": strings.Fields(unit), "container": container, "pod": pod, "job": job, "cron job": cron} {
		verb, arguments := "watchdog", 0
		if strings.HasSuffix(name, "job") {
			verb, arguments = "run", 2
		}
		cmd, flags, err := newRoot(io.Discard).Find(line)
		if err != nil || cmd.Name() != verb {
			t.Errorf("the %s runs %q: %v", name, line, err)
			continue
		}
		if err := cmd.ParseFlags(flags); err != nil || cmd.Flags().NArg() != arguments {
			t.Errorf("the %s runs %q: %v", name, line, err)
		}
	}
}

// found is the group of a pattern in a file.
func found(t *testing.T, file, pattern string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(pattern).FindSubmatch(text)
	if match == nil {
		t.Fatalf("%s has no %s", file, pattern)
	}
	return string(match[1])
}
