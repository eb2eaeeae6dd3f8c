package fence

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// PathResource is the default name of the resource that a request writes: the cleaned path of
// its URL.
//
//   - Repeated slashes, a slash at the end and the segments . and .. do not count.
//   - Escapes are the characters that they stand for, but %2F is no separator: /a%2Fb is
//     another resource than /a/b.
//   - Upper and lower case differ.
//   - Method, host and query do not count.
//
// It is the path as the Handler sees it: an http.StripPrefix around the Handler has removed its
// prefix. Set HTTPConfig.Resource if two such paths name one resource of the application, or
// one path names two.
func PathResource(r *http.Request) string {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for i, segment := range segments {
		// EscapedPath is a valid encoding, so there is no error.
		text, _ := url.PathUnescape(segment)
		segments[i] = url.PathEscape(text)
	}
	return path.Clean("/" + strings.Join(segments, "/"))
}
