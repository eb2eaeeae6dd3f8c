package fence_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/redlatch/redlatch/fence"
)

// FuzzHeader: a request runs only with one plain positive number that a lock can have issued,
// and no answer is long.
func FuzzHeader(f *testing.F) {
	for _, seed := range []string{"1", "33", "0", "-1", "+1", "01", " 1", "1, 2", "1.0", "1e3", "9007199254740992", "9223372036854775807", "9223372036854775808", "x\r\ny", ""} {
		f.Add(seed, "/stock/7")
	}
	f.Fuzz(func(t *testing.T, header, path string) {
		ran := int64(0)
		guarded := fence.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { ran = fence.TokenFrom(r.Context()) }),
			fence.HTTPConfig{MaxToken: 1 << 53, Resource: func(*http.Request) string { return path }})
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.Header[fence.Header] = []string{header}
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		number, err := strconv.ParseInt(header, 10, 64)
		genuine := err == nil && number > 0 && number <= 1<<53 && strconv.FormatInt(number, 10) == header
		if genuine != (w.Code == http.StatusOK) || genuine && ran != number || !genuine && ran != 0 {
			t.Errorf("with %q it is answered by %d and runs with %d", header, w.Code, ran)
		}
		if text, _ := io.ReadAll(w.Result().Body); len(text) > 1000 {
			t.Errorf("the answer to %d bytes has %d", len(header), len(text))
		}
	})
}
