package main

import (
	"math"
	"testing"
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
	if got[countScripts] != 21 || got[countOthers] != 14 || got[countTime] != 14 {
		t.Errorf("counted %v, want 21 scripts of 14 µs and 14 others", got)
	}
	if got := got.minus(figures{countScripts: 1, countOthers: 4}); got[countScripts] != 20 || got[countOthers] != 10 {
		t.Errorf("the difference is %v", got)
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
	work := parseWork("# CPU\r\nused_cpu_sys:0.25\r\nused_cpu_user:1.000001\r\n" +
		"used_cpu_sys_main_thread:0.2\r\nused_cpu_user_main_thread:0.5\r\n")
	if got := work[countCPU]; math.Abs(got-1250001) > 1e-6 {
		t.Errorf("%v µs, want 1250001", got)
	}
	if got := work[countMainCPU]; math.Abs(got-700000) > 1e-6 {
		t.Errorf("%v µs of the main thread, want 700000", got)
	}
}
