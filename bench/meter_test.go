package main

import (
	"testing"
	"time"
)

func TestMeterCountsScriptsAndOtherCommands(t *testing.T) {
	t.Parallel()
	const text = "# Commandstats\r\n" +
		"cmdstat_evalsha:calls=20,usec=7,usec_per_call=0.35,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_eval:calls=1,usec=7\r\n" +
		"cmdstat_hset:calls=12,usec=3\r\n" +
		"cmdstat_script|load:calls=2,usec=3\r\n" +
		"cmdstat_info:calls=9,usec=3\r\n" +
		"cmdstat_client|setinfo:calls=4,usec=3\r\n"
	got := parseWork(text)
	if want := (work{scripts: 21, others: 14}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if got := got.minus(work{scripts: 1, others: 4}); got != (work{scripts: 20, others: 10}) {
		t.Errorf("the difference is %+v", got)
	}
}

func TestMeterKnowsBothServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"redis_version:7.0.15\r\nos:Linux\r\n":                              "Redis 7.0.15",
		"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0": "Valkey 8.1.0",
	} {
		if got := parseSoftware(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestMeterReadsProcessorTime(t *testing.T) {
	t.Parallel()
	fields := parseFields("# CPU\r\nused_cpu_sys:0.25\r\nused_cpu_user:1.000001\r\n")
	if got := seconds(fields["used_cpu_user"]) + seconds(fields["used_cpu_sys"]); got != 1250001*time.Microsecond {
		t.Errorf("%v, want 1.250001s", got)
	}
}
