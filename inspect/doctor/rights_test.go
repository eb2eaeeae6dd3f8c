package doctor_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/inspect/doctor"
	"github.com/redlatch/redlatch/internal/redistest"
)

const prefix = "orders:"

// asUser examines a server as a user that was made with some rights.
func asUser(t *testing.T, server *redistest.Server, cfg doctor.Config) []doctor.Check {
	t.Helper()
	cfg.Prefix = prefix
	d := connect(t, rueidis.Options{Address: server.Addr(), Username: "orders", Password: "password"})
	return doctor.Examine(t.Context(), cfg, doctor.Target{Name: "x", User: "orders", Driver: d})
}

func userWith(t *testing.T, server *redistest.Server, rights string) {
	t.Helper()
	words := append([]string{"ACL", "SETUSER", "orders", "reset", "on", ">password"}, strings.Fields(rights)...)
	if said := server.CLI(t, words...); said != "OK" {
		t.Fatal(rights, said)
	}
}

// aclLines are the lines for an application in docs/acl.md.
func aclLines(t *testing.T) (lines []string) {
	t.Helper()
	page := redistest.Must(os.ReadFile("../../docs/acl.md"))
	lines = regexp.MustCompile(`(?m)^ACL SETUSER orders .*$`).FindAllString(string(page), -1)
	if len(lines) < 5 {
		t.Fatal("docs/acl.md has the lines", lines)
	}
	return lines
}

// Goal: the user of docs/acl.md lacks nothing, so that neither the page nor this package asks for more
// than the other.
func TestTheUserOfTheDocumentationHasEveryRight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, line := range aclLines(t) {
		server.CLI(t, strings.Fields(line)...)
	}
	checks := asUser(t, server, doctor.Config{Replicas: 1})
	want(t, checks, "rights", doctor.OK, "every right")
	for _, code := range []string{"tcp-keepalive", "timeout", "pubsub-buffer", "busy-scripts", "slow-commands"} {
		want(t, checks, code, doctor.Unknown, "ask its provider")
	}
}

// beforeNotes has the keys that the page gave before there were notes.
const beforeNotes = "~orders:* ~{orders:* ~redisson_*:{orders:* ~redlatch:fair:{orders:* ~redlatch:request:{orders:* ~redlatch:session* ~redlatch:watchdogs* &* +@all"

// Goal: whatever is missing, the line that is printed is enough, and is no more than the page has.
func TestTheLineThatIsPrintedMendsTheRights(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var page []string
	for _, line := range aclLines(t) {
		page = append(page, strings.Fields(line)...)
	}
	for missing, severity := range map[string]doctor.Severity{
		"~* &* +@all -hrandfield":                       doctor.Danger,
		"~* &* +@all -@write":                           doctor.Danger,
		"~* +@all resetchannels":                        doctor.Warning,
		"~* &* +@all -publish":                          doctor.Warning,
		"&* +@all ~orders:*":                            doctor.Danger,
		"&* +@all ~other:*":                             doctor.Danger,
		"~* &* +@all -client":                           doctor.Note,
		"~* &redisson_* +@all":                          doctor.Note,
		"~* &* +@all -wait":                             doctor.Danger,
		beforeNotes:                                     doctor.Note,
		"~* &* +@all -mset":                             doctor.Note,
		"+ping +info +eval +client|setname +acl|whoami": doctor.Danger,
		"+ping +info +client|setname":                   doctor.Danger,
	} {
		userWith(t, server, missing)
		if missing == "~* &* +@all -client" {
			server.CLI(t, "ACL", "SETUSER", "orders", "+client|setname")
		}
		checks := asUser(t, server, doctor.Config{Replicas: 1})
		if got, seen := found(checks, "rights"); got != severity {
			t.Errorf("%s: it is %q: %s", missing, got, seen)
		}
		for range 2 { // who may not run scripts is told more when it may
			for _, c := range checks {
				if c.Code != "rights" || c.Severity == doctor.OK {
					continue
				}
				for _, word := range strings.Fields(c.Mend) {
					if !slices.Contains(page, word) {
						t.Errorf("%s: %s is not on the page: %s", missing, word, c.Mend)
					}
				}
				if said := server.CLI(t, strings.Fields(c.Mend)...); said != "OK" {
					t.Errorf("%s: %v", c.Mend, said)
				}
			}
			checks = asUser(t, server, doctor.Config{Replicas: 1})
		}
		want(t, checks, "rights", doctor.OK, "")
	}
}

// A server without redis.acl_check_cmd, as Redis 6.2, does not say what a user may do.
func TestRightsThatAreNotTold(t *testing.T) {
	t.Parallel()
	old := told("redis_version:6.2.0")
	old.answers["EVAL"] = text(0)
	want(t, old.examine(t, doctor.Config{}), "rights", doctor.Unknown, "Redis 7")
}

// Goal: the lines can be pasted one after the other, whatever the prefix is, or none. Method: redis-cli
// reads them as it reads what somebody has pasted.
func TestTheLinesThatArePrintedCanBePasted(t *testing.T) {
	t.Parallel()
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("there is no redis-cli")
	}
	for _, prefix := range []string{"", "orders:", "my app[1]*:", `it's "a\b"`, "größe:"} {
		server := redistest.Start(t)
		userWith(t, server, "+@all resetchannels")
		cfg := doctor.Config{Prefix: prefix, Replicas: 1}
		examine := func() []doctor.Check {
			d := connect(t, rueidis.Options{Address: server.Addr(), Username: "orders", Password: "password"})
			return doctor.Examine(t.Context(), cfg, doctor.Target{Name: "x", User: "orders", Driver: d})
		}
		var lines []string
		for _, c := range examine() {
			if c.Code == "rights" {
				lines = append(lines, c.Mend)
			}
		}
		_, port, _ := strings.Cut(server.Addr(), ":")
		paste := exec.CommandContext(t.Context(), cli, "-p", port)
		paste.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		said, err := paste.Output()
		if want := strings.Repeat("OK\n", len(lines)); err != nil || len(lines) < 3 || strings.ReplaceAll(string(said), "\n\n", "\n") != want {
			t.Errorf("prefix %q: %v %s\n%s", prefix, err, said, strings.Join(lines, "\n"))
		}
		want(t, examine(), "rights", doctor.OK, "")
	}
}
