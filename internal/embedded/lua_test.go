package embedded

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
)

// Goal: a script has the reply that it has on miniredis. Method: both run each script.
func TestScriptsAnswerAsOnMiniredis(t *testing.T) {
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, text := range []string{
		"return 3.9", "return -3.9", "return 'x'", "return true", "return false", "return nil", "return {}",
		"return {1, 'a', {2, 'b'}, nil, 5}", "return {true, false, 3}",
		"return redis.call('SET', 'k', 'v')", "return redis.call('GET', 'k')", "return redis.call('GET', 'absent')",
		"return redis.call('HSET', 'h', 'a', 1, 'b', 2.5)", "return redis.call('HGETALL', 'h')", "return redis.call('HMGET', 'h', 'a', 'c')",
		"return type(redis.call('GET', 'absent'))", "return redis.call('PTTL', 'k')",
		"return redis.pcall('HGET', 'k', 'a')", "return redis.pcall('HGET', 'k', 'a').err", "return redis.error_reply('ERR mine')",
		"return {KEYS[1], ARGV[1], ARGV[2], #KEYS, #ARGV}", "return #redis.call('TIME')",
	} {
		words := []string{"EVAL", text, "1", "key", "first", "second"}
		if text == "return redis.error_reply('ERR mine')" {
			if got := s.Do(words...); got.Err == nil || got.Err.Error() != "ERR mine" {
				t.Errorf("%s: %+v", text, got)
			}
			continue
		}
		s.FlushAll()
		_ = s.Set("k", "v")
		s.HSet("h", "a", "1", "b", "2.5")
		found, err := s.wire.ask(words)
		want := fmt.Sprint(found, err)
		s.FlushAll()
		_ = s.Set("k", "v")
		s.HSet("h", "a", "1", "b", "2.5")
		r := s.Do(words...)
		if status, ok := found.(server.Simple); ok {
			found = string(status)
		}
		if expected := reply(found); err == nil && !reflect.DeepEqual(r, expected) || err != nil && (r.Err == nil || r.Err.Error() != err.Error()) {
			t.Errorf("%s: %+v, and miniredis says %s", text, r, want)
		}
	}
}

// Goal: no script sees what another has left, and an error ends a script. Method: one of each.
func TestScriptsAreApart(t *testing.T) {
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for text, want := range map[string]string{
		"left = 1":                           "no such global: left",
		"return left":                        "no such global: left",
		"redis.call('NONSENSE')":             "unknown command",
		"error('mine')":                      "mine",
		"return":                             "",
		"this is no Lua":                     "parse error",
		"redis.call()":                       "a command without words",
		"return redis.call('GET', {})":       "string expected",
		"local f = redis.call return f('X')": "unknown command",
	} {
		r := s.Do("EVAL", text, "0")
		if want == "" && r.Err != nil || want != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), want)) {
			t.Errorf("%s: %+v, want %q", text, r, want)
		}
	}
	if r := s.Do("EVAL", "return #KEYS + #ARGV", "0"); r.Int != 0 {
		t.Errorf("keys or arguments of an earlier script: %+v", r)
	}
	if r := s.Do("EVAL", "return 1", "1"); r.Err == nil {
		t.Error("a key is missing, and the script has run")
	}
}
