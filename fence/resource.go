package fence

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// PathResource is the default name of what a request writes: the path of its URL, cleaned.
//
//   - Repeated slashes, a slash at the end and the segments . and .. do not count.
//   - Escapes are the characters that they stand for, but %2F is no separator: /a%2Fb is
//     another resource than /a/b.
//   - Upper and lower case differ.
//   - Method, host and query do not count.
//
// It is the path as the Handler sees it: http.StripPrefix outside has taken its prefix off.
// An application to which two such paths are one thing, or one path is two, needs
// HTTPConfig.Resource.
func PathResource(r *http.Request) string {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for i, segment := range segments {
		// EscapedPath is a valid encoding, so there is no error.
		text, _ := url.PathUnescape(segment)
		segments[i] = url.PathEscape(text)
	}
	return path.Clean("/" + strings.Join(segments, "/"))
}
