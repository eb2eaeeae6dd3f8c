package redlatch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch"
)

// FuzzURL: a URL is understood or is a *ConfigError, and neither shows the user's password.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"", "host", "redis://host", "rediss://[::1]:7/3", "redis://me:my@host", "redis+sentinel://a,b:1/m/2?sentinel_password=x",
		"redis+cluster://a,b", "memory://", "memory://name", "redis://a b", "redis://[::1", "redis://me:100%@h", "redis://%zz", "redis://h:99999",
		"redis+sentinel://h/%2f", "x://y", "redis://h/1/2", "redis://h#x",
	} {
		f.Add(seed)
	}
	const secret = "hidden-9b1d"
	f.Fuzz(func(t *testing.T, text string) {
		for _, url := range []string{text, strings.Replace(text, "://", "://me:"+secret+"@", 1)} {
			_, err := redlatch.ParseURL(url)
			var config *redlatch.ConfigError
			if err != nil && (!errors.As(err, &config) || config.Field != "url") {
				t.Errorf("%q is %v", url, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) && !strings.Contains(text, secret) {
				t.Errorf("%q: the password is told: %v", url, err)
			}
		}
	})
}
