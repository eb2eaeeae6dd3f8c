package console

import (
	"bufio"
	"bytes"
	"cmp"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// Goal: a foreign page cannot lock the rightful viewer out. Such a page can open the console with wrong
// tokens in the fragment, and the viewer's own browser then sends them.
func TestWrongTokensDoNotShutOutTheRightOne(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{Private: true, Token: testToken})
	for range 3 * wrongLogged {
		s.ask("GET", "/story?lock=x", "", "Authorization: Bearer wrong")
	}
	if code, text, _ := s.ask("GET", "/story?lock=x", "", rightToken); code != http.StatusOK {
		t.Errorf("the right token: %d %s", code, text)
	}
}

// Goal: no answer lacks the headers that protect the page, whatever was asked for.
func TestOddRequestsGetTheHeadersToo(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{Private: true, Token: testToken, Unlock: open(t)})
	for _, odd := range []struct{ method, path, header string }{
		{"GET", "/none", ""}, {"DELETE", "/", ""}, {"OPTIONS", "/unlock", ""}, {"PUT", "/app.js", ""}, {"POST", "/unlock", ""}, {"POST", "/", ""},
		{"GET", "/app.js", "Range: bytes=9999999-"}, {"GET", "/app.js", "Range: bytes=x"}, {"GET", "/story?after=x", rightToken}, {"GET", "//events", ""}, {"GET", "/%2e%2e/app.js", ""},
		{"GET", "/a/../app.js", ""}, {"GET", "/story%00", ""}, {"GET", "/%ff", ""}, {"HEAD", "/", ""}, {"GET", "/events", "Host: evil"},
	} {
		_, _, h := s.ask(odd.method, odd.path, "", cmp.Or(odd.header, "X: y"))
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s %s %s: %s is %q", odd.method, odd.path, odd.header, name, got)
			}
		}
	}
}

// Goal: no request leads out of the path below which the console stands.
func TestNoAnswerLeadsOutOfThePath(t *testing.T) {
	t.Parallel()
	c := must1(New(newSource(), Options{}))
	defer c.Close()
	for name, strip := range map[string]string{"without a slash": "/some/where", "with a slash": "/some/where/"} {
		handler := http.StripPrefix(strip, c)
		for path, want := range map[string]int{
			"/some/where/": 200, "/some/where/app.js": 200, "/some/where/story": 200, "/some/where///app.js": 404, "/some/where/./app.js": 404,
			"/some/where//evil.example.org/..": 404, "/some/where/%2fevil.example.org/%2e%2e": 404, "/some/where/x/../app.js": 404,
		} {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequest("GET", "http://localhost"+path, nil))
			if location := recorder.Header().Get("Location"); recorder.Code != want || location != "" {
				t.Errorf("stripped %s, %s: %d %q, want %d", name, path, recorder.Code, location, want)
			}
		}
	}
}

// Goal: the page finds its files also if it is asked for without the slash at the end.
func TestThePageWithoutItsSlashLeadsToTheOneWithIt(t *testing.T) {
	t.Parallel()
	c := must1(New(newSource(), Options{}))
	defer c.Close()
	server := httptest.NewServer(http.StripPrefix("/some/where", c))
	defer server.Close()
	answer := must1(http.Get(server.URL + "/some/where?x=y"))
	defer answer.Body.Close()
	if got := answer.Request.URL.Path; got != "/some/where/" || answer.StatusCode != 200 {
		t.Errorf("it ends at %s: %d", got, answer.StatusCode)
	}
}

// Goal: nobody fills memory or disk by what a request contains.
func TestBodiesAreBounded(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s := serve(t, newSource(), Options{})
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("lock", "x")
	part := must1(form.CreateFormFile("file", "file"))
	_, _ = part.Write(make([]byte, 40<<20))
	_ = form.Close()
	most := 0
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			found, _ := os.ReadDir(folder)
			most = max(most, len(found))
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	r := must1(http.NewRequest("GET", s.url+"/story", &body))
	r.Header.Set("Content-Type", form.FormDataContentType())
	if answer, err := http.DefaultClient.Do(r); err == nil {
		answer.Body.Close()
	}
	close(stop)
	<-ended
	if most > 0 {
		t.Errorf("a request made %d files", most)
	}
}

// Goal: who sends a request slowly, or does not read the answer, does not keep a connection for ever.
func TestASlowBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := must1(New(newSource(), Options{Private: true, Token: testToken}))
	defer c.Close()
	for _, request := range []string{"POST /unlock", "GET /events", "GET /"} {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		method, path, _ := strings.Cut(request, " ")
		c.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, strings.NewReader("{")))
		if len(w.read) == 0 || w.read[0].IsZero() {
			t.Errorf("%s: reading its body has no bound", request)
		}
	}
}

// Goal: the log of a console has a line for each lock that was taken, and no token.
func TestNoTokenInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := must1(New(newSource(), Options{Private: true, Token: testToken, Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	defer c.Close()
	for range 50 {
		r := httptest.NewRequest("GET", "http://localhost/story", nil)
		r.Header.Set("Authorization", "Bearer almost-"+testToken)
		c.ServeHTTP(httptest.NewRecorder(), r)
	}
	if strings.Contains(log.String(), testToken) || strings.Count(log.String(), "\n") > wrongLogged {
		t.Errorf("it says\n%s", log.String())
	}
}

// Goal: a client without HTTP/1.1 or with a request that no browser sends does no harm.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{})
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/some/where")
	for request, want := range map[string]string{
		"GET /some/where/ HTTP/1.0\r\n\r\n":                                           "421",
		"GET http://evil.example.org/some/where/ HTTP/1.1\r\nHost: localhost\r\n\r\n": "421",
		"GET http://localhost/some/where/ HTTP/1.1\r\nHost: evil\r\n\r\n":             "200",
		"GET /some/where/story HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                "400",
		"GET /some/where/story HTTP/1.1\r\nHost: localhost@evil\r\n\r\n":              "400",
		"GET /some/where/story HTTP/1.1\r\nHost: localhost:1:2\r\n\r\n":               "421",
		"GET /some/where/story HTTP/1.1\r\nHost: 127.0.0.1.\r\n\r\n":                  "200",
		"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n":                    "404",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n":                               "",
	} {
		conn := must1(net.Dial("tcp", address))
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = conn.Write([]byte(request))
		line, _ := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		if !strings.Contains(line, want) {
			t.Errorf("%q: %q, want %s", request, line, want)
		}
	}
}

// Goal: whoever embeds the page may name its hosts in any form that a browser shows, and learns of a
// form that cannot be meant.
func TestHostsInAnyForm(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{Hosts: []string{"Locks.Example.org:8443", "other.example.org."}})
	for _, host := range []string{"locks.example.org", "locks.example.org:8443", "other.example.org"} {
		if code, _, _ := s.ask("GET", "/", "", "Host: "+host); code != 200 {
			t.Errorf("%s: %d", host, code)
		}
	}
	for _, host := range []string{"", "https://locks.example.org", "locks.example.org/locks", "*.example.org"} {
		if _, err := New(newSource(), Options{Hosts: []string{host}}); err == nil {
			t.Errorf("the host %q was taken", host)
		}
	}
}

// Goal: all of it works over HTTP/2 as well, and a stream outlives the WriteTimeout. That bounds a handshake too, so
// it is set after the handshake.
func TestOverHTTP2(t *testing.T) {
	t.Parallel()
	src := newSource(held("a", "owner:1", time.Minute))
	c := must1(New(src, Options{Private: true, Token: testToken}))
	server := httptest.NewUnstartedServer(c)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	defer c.Close()
	ask := func(method, path, body string) *http.Response {
		r := must1(http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body)))
		r.Header.Set("Authorization", "Bearer "+testToken)
		return must1(server.Client().Do(r))
	}
	if other := ask("GET", "/story", strings.Repeat("x", 1<<20)); other.StatusCode != 200 || other.ProtoMajor != 2 {
		t.Errorf("a request with a body: %s, %s", other.Proto, other.Status)
	}
	server.Config.WriteTimeout = 2 * time.Second
	answer := ask("GET", "/events", "")
	defer answer.Body.Close()
	w := &watcher{t, bufio.NewReader(answer.Body), nil}
	w.begin(1)
	time.Sleep(server.Config.WriteTimeout)
	src.set(reading(held("a", "owner:1", time.Minute), held("b", "owner:2", time.Minute)), nil)
	w.begin(1)
}
