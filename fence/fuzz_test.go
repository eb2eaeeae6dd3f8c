package fence_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
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
			fence.HTTPConfig{Store: new(fence.Memory), MaxToken: 1 << 53, Resource: func(*http.Request) string { return path }})
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

// FuzzObject: a guard in S3 overwrites an object only if a guard has written it, with a token that
// is not newer, and returns its value unchanged.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{"", "x", "redlatch-fence 33 abc\nvalue", "redlatch-fence 34 abc\n", "redlatch-fence 35 abc\n",
		"redlatch-fence +33 abc\n", "redlatch-fence 0x21 abc\n", "redlatch-fence 3_3 abc\n", "redlatch-fence 33  abc\n", "redlatch-fence\t33 abc\n"} {
		f.Add([]byte(seed))
	}
	genuine := regexp.MustCompile(`^redlatch-fence [1-9][0-9]{0,18} [^ \n]+\n`)
	f.Fuzz(func(t *testing.T, body []byte) {
		bucket := new(fakeBucket)
		guard := openS3(t, bucket)
		bucket.objects["a"] = body
		value, token, err := guard.Get(t.Context(), "a")
		if err == nil && (!genuine.Match(body) || !bytes.HasSuffix(body, append([]byte("\n"), value...)) || token <= 0) {
			t.Errorf("%q is read as %q of token %d", body, value, token)
		}
		passes := err == nil && token <= 34
		err = guard.Put(t.Context(), 34, "a", []byte("new"))
		if passes != (err == nil) || !passes && !bytes.Equal(bucket.objects["a"], body) {
			t.Errorf("%q: Put returned %v and left %q", body, err, bucket.objects["a"])
		}
	})
}
