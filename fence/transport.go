package fence

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
)

// Transport adds the token of a request's context to the request:
//
//	client := &http.Client{Transport: &fence.Transport{}}
//	ctx := fence.WithToken(hold.Context(), hold.Token())
//	request, err := http.NewRequestWithContext(ctx, "PUT", url, body)
//
// A request whose context carries no token is sent unchanged.
type Transport struct {
	Base http.RoundTripper // Default: http.DefaultTransport.
}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip sends the request. If the token is not positive, RoundTrip sends nothing and returns
// ErrNoToken: the hold was taken without fencing.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	base := cmp.Or(t.Base, http.DefaultTransport)
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

// ResponseError returns a *StaleError if the response is a Handler's refusal of a stale token. It
// returns nil for any other response, including other errors. It does not read the body.
func ResponseError(response *http.Response) error {
	if response.StatusCode != http.StatusConflict {
		return nil
	}
	last, err := tokenOf(response.Header)
	if err != nil {
		return nil // another handler's conflict
	}
	stale := &StaleError{Last: last}
	if response.Request != nil {
		stale.Token, _ = tokenOf(response.Request.Header)
	}
	return stale
}
