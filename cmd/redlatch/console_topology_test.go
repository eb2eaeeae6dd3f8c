//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// consoleUser gives servers a user who has what docs/acl.md lists for an inspector, and, for a console
// that takes locks away, for an application as well.
func consoleUser(t *testing.T, unlock bool, servers ...*redistest.Server) {
	t.Helper()
	text := string(redistest.Must(os.ReadFile("../../docs/acl.md")))
	words := []string{"ACL", "SETUSER", "viewer", "on", ">password", "resetchannels", "-@all"}
	for _, line := range regexp.MustCompile(`(?m)^ACL SETUSER (inspector|orders) (.*)$`).FindAllStringSubmatch(text, -1) {
		if line[1] == "orders" && !unlock || strings.Contains(line[2], "-@all") {
			continue
		}
		words = append(words, strings.Fields(line[2])...)
	}
	for _, s := range servers {
		if said := s.CLI(t, words...); said != "OK" {
			t.Fatal(said)
		}
	}
}

// refused are the refusals that the servers have listed.
func refused(t *testing.T, servers ...*redistest.Server) (all []string) {
	t.Helper()
	for _, s := range servers {
		for _, entry := range s.CLI(t, "ACL", "LOG").([]any) {
			if text := fmt.Sprint(entry); !strings.Contains(text, "setinfo") { // see the page
				all = append(all, text)
			}
		}
	}
	return all
}

// shownLock is a row as the page gets it.
type shownLock struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Ends    int64  `json:"ends"`
	Holders []struct {
		Key string `json:"key"`
	} `json:"holders"`
}

// looker reads the stream of a console as the page does.
type looker struct {
	*consoleProcess
	lines   *bufio.Reader
	locks   map[string]shownLock // by name
	title   string
	trouble string
}

func (c *consoleProcess) look() *looker {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	c.Cleanup(cancel)
	answer := redistest.Must(http.DefaultClient.Do(redistest.Must(http.NewRequestWithContext(ctx, "GET", c.url+"events", nil))))
	c.Cleanup(func() { answer.Body.Close() })
	return &looker{c, bufio.NewReader(answer.Body), map[string]shownLock{}, "", ""}
}

// until reads until something is true.
func (l *looker) until(what string, true func() bool) {
	l.Helper()
	kind := ""
	for !true() {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			l.Fatalf("until %s: %v; there are %+v, trouble %q\n%s", what, err, l.locks, l.trouble, l.stderr)
		}
		if text, ok := strings.CutPrefix(line, "event: "); ok {
			kind = strings.TrimSpace(text)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			l.take(kind, []byte(text))
		}
	}
}

func (l *looker) take(kind string, text []byte) {
	l.Helper()
	var said struct {
		Title string      `json:"title"`
		Set   []shownLock `json:"set"`
		Gone  []string    `json:"gone"`
		Text  string      `json:"text"`
	}
	redistest.Must(0, json.Unmarshal(text, &said))
	for _, lock := range said.Set {
		l.locks[lock.Name] = lock
	}
	for _, id := range said.Gone {
		for name, lock := range l.locks {
			if lock.ID == id {
				delete(l.locks, name)
			}
		}
	}
	switch kind {
	case "hello":
		l.title = said.Title
	case "trouble":
		l.trouble = said.Text
	case "well":
		l.trouble = ""
	}
}

// take asks the console to take a lock away, and returns the status and what it says.
func (l *looker) takeAway(name string) (int, string) {
	l.Helper()
	lock := l.locks[name]
	body := fmt.Sprintf(`{"lock":%q,"owner":%q}`, lock.ID, lock.Holders[0].Key)
	r := redistest.Must(http.NewRequestWithContext(l.Context(), "POST", l.url+"unlock", strings.NewReader(body)))
	r.Header.Set("Authorization", "Bearer "+l.token())
	answer := redistest.Must(http.DefaultClient.Do(r))
	defer answer.Body.Close()
	var said struct {
		Error string `json:"error"`
	}
	redistest.Must(0, json.NewDecoder(answer.Body).Decode(&said))
	return answer.StatusCode, said.Error
}

// lockClient is a client of the servers with all rights.
func lockClient(t *testing.T, url string) *redlatch.Client {
	t.Helper()
	c := redistest.Must(redlatch.Open(t.Context(), url, redlatch.Config{Logger: slog.New(slog.DiscardHandler), LeaseTime: 20 * time.Second}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// Goal: on a Cluster the page has the locks of all masters, and takes one away, with the rights that
// docs/acl.md lists and no others. With a master down the page says so, and goes on with the others.
func TestLongTheConsoleOnAClusterWithTheSmallestRights(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	consoleUser(t, true, cluster.Servers...)
	at := strings.Join(cluster.Addrs(), ",")
	client := lockClient(t, "redis+cluster://"+at)
	locks := map[string]redlatch.Lock{}
	for i := range 12 {
		name := fmt.Sprintf("orders:%d", i)
		locks[name] = []redlatch.Lock{client.Mutex(name), client.FairMutex(name), client.RWMutex(name)}[i%3]
		redistest.Must(locks[name].TryLock(t.Context()))
	}
	l := startConsoleOn(t, "redis+cluster://viewer:password@"+at, "--listen", "127.0.0.1:0", "--every", "200ms", "--allow-unlock").look()
	l.until("all locks are there", func() bool { return len(l.locks) == len(locks) })
	for _, name := range []string{"orders:0", "orders:1", "orders:2"} {
		if code, text := l.takeAway(name); code != 200 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	l.until("three are gone", func() bool { return len(l.locks) == len(locks)-3 })
	if all := refused(t, cluster.Servers...); len(all) > 0 || l.trouble != "" {
		t.Errorf("trouble %q, refused: %q", l.trouble, all)
	}

	down := cluster.Servers[1]
	down.Kill()
	l.until("a master is down", func() bool { return strings.Contains(l.trouble, down.Addr()) })
	taken, left := 0, 0
	for name := range l.locks {
		switch code, text := l.takeAway(name); {
		case code == 200:
			taken++
		case code == 502 && strings.Contains(text, "left alone"):
			left++
		default:
			t.Errorf("%s: %d %s", name, code, text)
		}
		if taken > 0 && left > 0 {
			break
		}
	}
	l.until("it is gone", func() bool { return len(l.locks) == len(locks)-3-taken })
}

// Goal: a user who may only look sees all that there is, and is refused nothing.
func TestTheConsoleWithTheRightsOfAnInspector(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	consoleUser(t, false, server)
	redistest.Must(lockClient(t, server.URL()).Mutex("orders:1").TryLock(t.Context()))
	c := startConsoleOn(t, "redis://viewer:password@"+server.Addr(), "--listen", "127.0.0.1:0", "--every", "200ms", "--allow-unlock")
	l := c.look()
	l.until("the lock is there", func() bool { return len(l.locks) == 1 })
	if all := refused(t, server); len(all) > 0 || l.trouble != "" {
		t.Errorf("trouble %q, refused: %q", l.trouble, all)
	}
	if strings.Contains(l.title, "password") || strings.Contains(l.title, "viewer") || !strings.Contains(l.title, server.Addr()) {
		t.Errorf("the title is %q", l.title)
	}
	if code, text := l.takeAway("orders:1"); code != 502 || !strings.Contains(text, "left alone") {
		t.Errorf("without the rights of an application: %d %s", code, text)
	}
}

// Goal: behind Sentinel the page follows the primary.
func TestLongTheConsoleBehindSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	url := "redis+sentinel://" + strings.Join(s.Addrs(), ",") + "/" + s.Name
	client := lockClient(t, url)
	redistest.Must(client.Mutex("orders:1").TryLock(t.Context()))
	l := startConsoleOn(t, url, "--listen", "127.0.0.1:0", "--every", "200ms", "--allow-unlock").look()
	l.until("the lock is there", func() bool { return len(l.locks) == 1 })
	old := s.Primary(t)
	old.Kill()
	s.AwaitFailover(t, old)
	redistest.Must(client.Mutex("orders:2").Lock(t.Context()))
	l.until("a lock of the new primary is there", func() bool { return l.locks["orders:2"].ID != "" })
	if code, text := l.takeAway("orders:2"); code != 200 {
		t.Errorf("afterwards: %d %s", code, text)
	}
}
