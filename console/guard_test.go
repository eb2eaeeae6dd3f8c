package console

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Goal: the page may load its own files and nothing else, and nobody may frame it.
func TestEveryAnswerHasThePolicy(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{})
	for _, path := range []string{"/", "/app.js", "/none", "/story?lock=x"} {
		_, _, h := s.ask("GET", path, "")
		policy := h.Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, rule) {
				t.Errorf("%s: %q lacks %q", path, policy, rule)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// Goal: the page has no script or style inside, and no address that leads out of the path below which
// it is served. Method: read its files.
func TestThePageNeedsNoExceptionFromItsPolicy(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{})
	inside := regexp.MustCompile(`<script>|<style|\sstyle=|\son\w+=|javascript:|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|["'(]/[\w/]|https?://`)
	names := must1(fs.Glob(files, "page/*"))
	if len(names) < 10 {
		t.Fatalf("the page has %q", names)
	}
	for _, name := range names {
		text := string(must1(fs.ReadFile(files, name)))
		text = strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, "")
		if found := inside.FindString(text); found != "" {
			t.Errorf("%s has %q", name, found)
		}
		code, _, h := s.ask("GET", strings.TrimPrefix(name, "page"), "")
		if code != http.StatusOK || h.Get("Content-Type") == "" {
			t.Errorf("%s: %d %s", name, code, h.Get("Content-Type"))
		}
	}
	for path, want := range map[string]int{"/": 200, "/console.go": 404, "/page": 404, "/..%2fpage.go": 404, "/unlock": 404} {
		if code, _, _ := s.ask("GET", path, ""); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

// Goal: a foreign page cannot read this one under a name of its own that leads here.
func TestForeignNamesAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{Hosts: []string{"locks.example.org"}})
	private := serve(t, newSource(), Options{Private: true, Token: testToken})
	for host, want := range map[string]int{
		"evil.example.org": 421, "localhost.evil.example.org": 421, "127.0.0.1.evil.example.org": 421, "": 421,
		"localhost:7800": 200, "127.0.0.1": 200, "127.0.0.1:7800": 200, "[::1]:7800": 200, "LOCKS.example.org": 200, "locks.example.org:443": 200,
	} {
		if host == "" {
			host = "evil"
		}
		for _, path := range []string{"/", "/story?lock=x"} {
			if code, _, _ := s.ask("GET", path, "", "Host: "+host); code != want {
				t.Errorf("%s under %q: %d, want %d", path, host, code, want)
			}
		}
	}
	if code, _, _ := private.ask("GET", "/", "", "Host: locks.example.org"); code != 200 {
		t.Errorf("a page that needs its token for everything: %d", code)
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{Unlock: open(t), Token: testToken})
	for _, path := range []string{"/events", "/story?lock=x"} {
		for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200} {
			if code, _, _ := s.ask("GET", path, "", "Sec-Fetch-Site: "+site); code != want {
				t.Errorf("%s from %s: %d, want %d", path, site, code, want)
			}
		}
	}
	right := "Authorization: Bearer " + testToken
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example.org", "Origin: null"} {
		if code, _, _ := s.ask("POST", "/unlock", "{}", right, header); code != 403 {
			t.Errorf("%s: %d, want 403", header, code)
		}
	}
}

// Goal: a private console says nothing without its token, and something with it.
func TestAPrivateConsoleNeedsItsTokenForAllData(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{Private: true, Token: testToken})
	for _, path := range []string{"/events", "/story?lock=x"} {
		for header, want := range map[string]int{
			"X: y": 401, "Authorization: Bearer ": 401, "Authorization: Bearer": 401, "Authorization: Bearer wrong": 401,
			"Authorization: " + testToken: 401, "Authorization: Bearer " + testToken: 200,
		} {
			if code, _, _ := s.ask("GET", path, "", header); code != want {
				t.Errorf("%s with %q: %d, want %d", path, header, code, want)
			}
		}
	}
	if code, _, _ := s.ask("GET", "/", ""); code != 200 {
		t.Errorf("the page, which asks for the token: %d", code)
	}
}

func TestTheLogHasSoManyWrongTokensInAMinute(t *testing.T) {
	t.Parallel()
	var l limiter
	now := time.Now()
	for i := range wrongLogged {
		if !l.count(now) {
			t.Errorf("the log lacks wrong token %d", i)
		}
	}
	if l.count(now.Add(59*time.Second)) || !l.count(now.Add(time.Minute)) {
		t.Error("the log has the wrong ones")
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	client := open(t)
	for i, o := range []Options{{Unlock: client}, {Private: true}, {Token: "short"}, {Every: time.Nanosecond}} {
		if _, err := New(newSource(), o); err == nil {
			t.Errorf("options %d were taken", i)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no source was taken")
	}
}
