package connect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// FuzzURL: whatever is read is a target or a ConfigError. A password of letters and digits
// that a URL ends its user with is never shown.
func FuzzURL(f *testing.F) {
	for _, url := range []string{
		"redis://host", "rediss://[::1%25eth0]:1/7", "redis+sentinel://a,b:1/l/3?sentinel_password=x", "redis+cluster://a,b",
		"memory://name", "inside://name", "unix:///run/x.sock?db=2", "unix://me@/x%41", "redis://h?db=3", "redis://", "://", "redis://h:99999", "redis://%zz@h", "redis://h#x", "redis+sentinel://h/%zz",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		check := func(url string) {
			_, err := connect.Parse(url)
			if wrong, ok := errors.AsType[*lockerr.ConfigError](err); err != nil && (!ok || wrong.Field != "url") {
				t.Errorf("%q: error %v, want a ConfigError for the url", url, err)
			}
			if err != nil && strings.Contains(err.Error(), "c0rrecth0rse") && !strings.Contains(url, "c0rrecth0rse://") {
				t.Errorf("the error shows the password: %v", err)
			}
		}
		check(url)
		if scheme, rest, ok := strings.Cut(url, "://"); ok && !strings.Contains(url, "c0rrecth0rse") {
			check(scheme + "://me:c0rrecth0rse@" + rest)
		}
	})
}
