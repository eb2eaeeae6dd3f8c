package fence

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/internal/protocol"
)

// Header is the HTTP header that carries a token. A request carries its own token, a refusal the
// newest token that has passed.
const Header = "Redlatch-Token"

type tokenKey struct{}

// WithToken returns a context that carries the token of a hold. A Transport sends the token, and
// a Handler passes it to the handler that it guards.
func WithToken(ctx context.Context, token int64) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// TokenFrom returns the token that a context carries, 0 if it carries none. Every guard refuses
// the token 0, so the caller need not check the result.
func TokenFrom(ctx context.Context) int64 {
	token, _ := ctx.Value(tokenKey{}).(int64)
	return token
}

// tokenOf reads the token of a header. The error is ErrNoToken if it has none, and another one
// if its value is not one number.
func tokenOf(header http.Header) (int64, error) {
	values := header.Values(Header)
	if len(values) == 0 {
		return 0, fmt.Errorf("%w: the request has no header %s", ErrNoToken, Header)
	}
	token, err := strconv.ParseInt(values[0], 10, 64)
	if len(values) > 1 || err != nil || strconv.FormatInt(token, 10) != values[0] {
		return 0, fmt.Errorf("the header %s must be one number, not %s", Header, protocol.Show(strings.Join(values, ", ")))
	}
	return token, check(token)
}
