package fence_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
)

// guardedServer is a server whose every path is guarded, and a client that sends tokens.
func guardedServer(t *testing.T, writes http.Handler) (url string, client *http.Client) {
	t.Helper()
	server := httptest.NewServer(fence.Handler(writes, alone()))
	t.Cleanup(server.Close)
	client = server.Client()
	client.Transport = &fence.Transport{Base: client.Transport}
	return server.URL, client
}

// send makes a request under ctx.
func send(t *testing.T, ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader("body"))
	must(t, err)
	response, err := client.Do(request)
	if request.Header.Get(fence.Header) != "" {
		t.Error("the caller's request was changed")
	}
	if err == nil {
		response.Body.Close()
	}
	return response, err
}

func TestATokenTravelsFromContextToContext(t *testing.T) {
	t.Parallel()
	var writes served
	url, client := guardedServer(t, &writes)
	fencetest.Refuses(t, func(token int64) error {
		response, err := send(t, fence.WithToken(t.Context(), token), client, url+"/stock/7")
		if err != nil {
			return err
		}
		return fence.ResponseError(response)
	})
	for _, token := range writes.tokens {
		if token <= 0 {
			t.Errorf("the guarded handler ran with token %d", token)
		}
	}
}

func TestARequestWithoutATokenGoesOutAsItIs(t *testing.T) {
	t.Parallel()
	url, client := guardedServer(t, new(served))
	response, err := send(t, t.Context(), client, url)
	must(t, err)
	if response.StatusCode != http.StatusPreconditionRequired || fence.ResponseError(response) != nil {
		t.Errorf("status %d, error %v", response.StatusCode, fence.ResponseError(response))
	}
}

// An http.Client makes the headers that a request lacks. Who calls RoundTrip may not have.
func TestARequestWithoutHeadersIsSent(t *testing.T) {
	t.Parallel()
	var writes served
	url, client := guardedServer(t, &writes)
	request, err := http.NewRequestWithContext(fence.WithToken(t.Context(), 33), http.MethodPut, url, nil)
	must(t, err)
	request.Header = nil
	response, err := client.Transport.RoundTrip(request)
	must(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusOK || len(writes.tokens) != 1 {
		t.Errorf("status %d, run with %v", response.StatusCode, writes.tokens)
	}
}

// closer notes that it was closed.
type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

func TestATokenThatIsNoneIsNotSent(t *testing.T) {
	t.Parallel()
	body := &closer{Reader: strings.NewReader("body")}
	request, err := http.NewRequestWithContext(fence.WithToken(t.Context(), 0), http.MethodPut, "http://127.0.0.1:1", body)
	must(t, err)
	if _, err := (&fence.Transport{}).RoundTrip(request); !errors.Is(err, fence.ErrNoToken) {
		t.Errorf("error %v, want ErrNoToken", err)
	}
	if !body.closed {
		t.Error("the body was left open, against the contract of http.RoundTripper")
	}
}

func TestAConflictOfSomebodyElseIsNotAStaleToken(t *testing.T) {
	t.Parallel()
	for _, response := range []*http.Response{
		{StatusCode: http.StatusConflict},
		{StatusCode: http.StatusConflict, Header: http.Header{fence.Header: {"x"}}},
		{StatusCode: http.StatusOK, Header: http.Header{fence.Header: {"34"}}},
	} {
		if err := fence.ResponseError(response); err != nil {
			t.Errorf("%d %v: %v", response.StatusCode, response.Header, err)
		}
	}
}

func TestTokenFromAContextWithoutOneIsNoToken(t *testing.T) {
	t.Parallel()
	if token := fence.TokenFrom(t.Context()); token != 0 {
		t.Errorf("token %d", token)
	}
}
