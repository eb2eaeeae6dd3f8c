package connect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// The scheme of an embedded server. No test of this package imports driver/memory, so that
// inside:// is unknown here.
func init() { driver.Register("inside", openInside) }

// inside is an embedded server that is never asked anything.
type inside struct {
	driver.Driver
	name           string
	commandTimeout time.Duration
}

func openInside(_ context.Context, name string, commandTimeout time.Duration) (driver.Driver, error) {
	if name == "broken" {
		return nil, errBroken
	}
	if name == "nothing" {
		return nil, nil
	}
	return inside{name: name, commandTimeout: commandTimeout}, nil
}

var errBroken = errors.New("broken")

func TestURLsAreUnderstood(t *testing.T) {
	t.Parallel()
	const nobody = ` as "":"", sentinels as "":""`
	for url, want := range map[string]string{
		"redis://host":                         "redis://host:6379" + nobody,
		"REDIS://host/":                        "redis://host:6379" + nobody,
		"rediss://host:1/7":                    "rediss://host:1/7" + nobody,
		"redis://[::1]":                        "redis://[::1]:6379" + nobody,
		"redis://[fe80::1%25eth0]:7":           "redis://[fe80::1%eth0]:7" + nobody,
		"redis://:secret@host":                 `redis://host:6379 as "":"secret", sentinels as "":""`,
		"redis://me@host":                      `redis://host:6379 as "me":"", sentinels as "":""`,
		"redis://m%2Fe:a%40b:c+d%25@h":         `redis://h:6379 as "m/e":"a@b:c+d%", sentinels as "":""`,
		"redis://me:p@ss@host:1":               `redis://host:1 as "me":"p@ss", sentinels as "":""`,
		"inside://":                            "inside://" + nobody,
		"Inside://name":                        "inside://name" + nobody,
		"redis+sentinel://host/locks":          "redis+sentinel://host:26379/locks" + nobody,
		"redis+sentinel://a,b:1,c/l/3/":        "redis+sentinel://a:26379,b:1,c:26379/l/3" + nobody,
		"redis+sentinel://[::1]:1,[::2]/a%2Fb": "redis+sentinel://[::1]:1,[::2]:26379/a/b" + nobody,
		"rediss+sentinel://me:my@a,b/l?sentinel_username=you&sentinel_password=yo%26u+r": `rediss+sentinel://a:26379,b:26379/l` +
			` as "me":"my", sentinels as "you":"yo&u+r"`,
		"redis+sentinel://a/l?sentinel_password=x": `redis+sentinel://a:26379/l as "":"", sentinels as "":"x"`,
		"redis+cluster://a":                        "redis+cluster://a:6379" + nobody,
		"redis+cluster://me:my@a:1,b,c:3/":         `redis+cluster://a:1,b:6379,c:3 as "me":"my", sentinels as "":""`,
		"rediss+cluster://a,b/0":                   "rediss+cluster://a:6379,b:6379" + nobody,
		"unix:///run/Redis.sock":                   "unix:///run/Redis.sock" + nobody,
		"UNIX://me:my@/a%20b/%40x?db=3":            `unix:///a b/@x?db=3 as "me":"my", sentinels as "":""`,
		"unix:///x?db=0":                           "unix:///x" + nobody,
	} {
		target, err := connect.Parse(url)
		if got := target.Secrets(); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", url, got, err, want)
		}
	}
}

// TestWrongURLsTellNoSecrets: the word secret stands where a password may stand, or a
// part of it, after a mistake that is easily made.
func TestWrongURLsTellNoSecrets(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                           "no scheme",
		"host":                                       "no scheme",
		"me:secret@redis://host":                     "no scheme",
		"postgres://me:secret@host":                  `"postgres" is none of`,
		"sentinel+redis://me:secret@host":            "is none of",
		"redis://me:sec/secret@host":                 "%2F",
		"redis://me:sec?secret@host":                 "%3F",
		"redis+cluster://me:sec#secret@host,b":       "%23",
		"redis://me:100%secret@host":                 "%25",
		"redis://me:secret":                          "port",
		"redis+cluster://a,me:secret":                "port",
		"redis://:secret@":                           "no host",
		"redis+cluster://:secret@a,,b":               "no host",
		"redis+cluster://a,":                         "no host",
		"redis://a,b":                                "one host",
		"redis://::1":                                "in brackets",
		"redis://[::1":                               "not closed",
		"redis://a b":                                "a host is not written",
		"redis://a:0":                                "port",
		"redis+sentinel://a:65536/l":                 "port",
		"redis://a/x":                                `database "x"`,
		"redis://a/1/2":                              `database "1/2"`,
		"redis://a?db=1":                             "redis://host:port/3",
		"redis://a?timeout=1":                        `could follow "redis://a:6379"`,
		"redis://a/1#x":                              `could follow "redis://a:6379/1"`,
		"redis://:secret@a?sentinel_password=secret": `could follow "redis://a:6379"`,
		"redis+cluster://a/1":                        "no database but 0",
		"redis+cluster://a?x=y":                      "could follow",
		"redis+sentinel://me:secret@a":               "does not name the master",
		"redis+sentinel://a//1":                      "does not name the master",
		"redis+sentinel://a/%zz":                     "does not name the master",
		"redis+sentinel://a/l/x":                     `database "x"`,
		"redis+sentinel://a/l/-1":                    `database "-1"`,
		"redis+sentinel://a/l?sentinel_password=secret%z": "could follow",
		"redis+sentinel://a/l?sentinel_passwort=secret":   "sentinel_password=…",
		"redis+sentinel://a/l?sentinel_password=x#secret": "could follow",
		"unix://run/redis.sock":                           "unix:///run/redis.sock",
		"unix://me:secret@host/x":                         "absolute path",
		"unix://me:secret@":                               "names no socket",
		"unix:///":                                        "names no socket",
		"unix:///" + strings.Repeat("x", 107):             "longer than the 107 bytes",
		"unix:///a%zz":                                    "%25",
		"unix:///a%00":                                    "names no socket",
		"unix://me:sec/secret@/x":                         "%2F",
		"unix:///x?db=y":                                  `database "y"`,
		"unix:///x?db=1&db=2":                             "but ?db=",
		"unix:///x?password=secret":                       `could follow "unix:///x" but ?db=`,
		"unix:///x#1":                                     "could follow",
		"inside://me:secret@name":                         "not by a user",
		"inside://name/secret":                            "not by a user",
		"inside://name?secret":                            "could follow",
	} {
		_, err := connect.Parse(url)
		if config, ok := errors.AsType[*lockerr.ConfigError](err); !ok || config.Field != "url" || !strings.Contains(config.Reason, want) {
			t.Errorf("Parse(%q) is %v, want a ConfigError for the url with %q", url, err, want)
		}
		if err != nil && strings.Contains(strings.ReplaceAll(err.Error(), "sentinel_password=…", ""), "secret") {
			t.Errorf("Parse(%q) tells the password: %v", url, err)
		}
	}
}

func TestTheIdentityOfAServer(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"redis://a", "redis://A:6379", "rediss://user:secret@a:6379/3"},
		{"redis+sentinel://a,b/main", "redis+sentinel://B:26379,a/main", "rediss+sentinel://b,a/main/2"},
		{"redis+cluster://a,b", "rediss+cluster://b,a:6379"},
		{"redis://[FE80::1]", "redis://[fe80::1]:6379"},
		{"unix:///run/redis.sock", "unix://me:secret@/run/redis.sock?db=3"},
	} {
		for _, url := range same {
			if got, want := identity(t, url), identity(t, same[0]); got != want {
				t.Errorf("%s is %q, and %s is %q", same[0], want, url, got)
			}
		}
	}
	for _, pair := range [][2]string{{"redis://a", "redis://b"}, {"redis://a", "redis://a:6380"}, {"redis+sentinel://a/main", "redis+sentinel://a/Main"}, {"inside://a", "inside://b"}, {"unix:///a", "unix:///A"}} {
		if identity(t, pair[0]) == identity(t, pair[1]) {
			t.Errorf("%v are one server", pair)
		}
	}
	if got := identity(t, "inside://"); got != "" {
		t.Errorf("an embedded server without a name is %q to others", got)
	}
}

func identity(t *testing.T, url string) string {
	t.Helper()
	target, err := connect.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return target.Identity()
}

// Goal: a log names a server without what logs in there.
func TestATargetIsShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://host:1/3":                  "redis://host:1/3",
		"redis://me:secret@host":            "redis://host:6379",
		"redis://me:se@cret@host:1":         "redis://host:1",
		"unix://me:secret@/run/r.sock?db=2": "unix:///run/r.sock?db=2",
		"redis+cluster://:secret@a:1,b":     "redis+cluster://a:1,b:6379",
		"rediss+sentinel://u:secret@a,b/m/2?sentinel_username=x&sentinel_password=secret": "rediss+sentinel://a:26379,b:26379/m/2",
	} {
		target, err := connect.Parse(url)
		if got := target.String(); err != nil || got != want {
			t.Errorf("%s is shown as %s, want %s: %v", url, got, want, err)
		}
	}
}
