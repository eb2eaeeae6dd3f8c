package fence

import (
	"fmt"
	"net/http"
	"strconv"
)

// Transport sends along the token that a request's context carries:
//
//	client := &http.Client{Transport: &fence.Transport{}}
//	ctx := fence.WithToken(hold.Context(), hold.Token())
//	request, err := http.NewRequestWithContext(ctx, "PUT", url, body)
//
// A request whose context carries none goes out as it is.
type Transport struct {
	Base http.RoundTripper // nil means http.DefaultTransport
}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip sends the request. One whose context carries a token that is not positive is
// not sent, and the error is ErrNoToken: its hold was taken without fencing.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	token, carried := request.Context().Value(tokenKey{}).(int64)
	if !carried {
		return base.RoundTrip(request)
	}
	if err := check(token); err != nil {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, fmt.Errorf("fence: %w", err)
	}
	marked := request.Clone(request.Context())
	if marked.Header == nil {
		marked.Header = make(http.Header)
	}
	marked.Header.Set(Header, strconv.FormatInt(token, 10))
	return base.RoundTrip(marked)
}

// ResponseError is a *StaleError if the response is a Handler's refusal of a stale
// token, and nil otherwise, also for errors of other kinds. It leaves the body alone.
func ResponseError(response *http.Response) error {
	if response.StatusCode != http.StatusConflict {
		return nil
	}
	last, err := tokenOf(response.Header)
	if err != nil {
		return nil // somebody else's conflict
	}
	stale := &StaleError{Last: last}
	if response.Request != nil {
		stale.Token, _ = tokenOf(response.Request.Header)
	}
	return stale
}
