package console

import (
	"embed"
	"net/http"
	"net/url"
	"path"
	"strings"
)

//go:embed page
var files embed.FS

// types are the files that are served, by their ending. A guess of the system's may be wrong.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// below lets the console stand below any path, whether http.StripPrefix leaves the first slash or not.
// It answers no odd path: a ServeMux leads from there to a path that is none of the console's.
func below(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "/" + strings.TrimPrefix(r.URL.Path, "/")
		asked, err := url.ParseRequestURI(r.RequestURI)
		switch {
		case path.Clean(name) != name:
			http.NotFound(w, r)
		case name == "/" && err == nil && asked.Path != "" && !strings.HasSuffix(asked.Path, "/"):
			w.Header().Set("Location", "./"+path.Base(asked.EscapedPath())+"/") // the files of the page stand below it
			w.WriteHeader(http.StatusPermanentRedirect)
		default:
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = name, ""
			next.ServeHTTP(w, r)
		}
	})
}

// page serves the files of the page. It says nothing of any lock, so it needs no token.
var page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if name == "" {
		name = "index.html"
	}
	text, err := files.ReadFile("page/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	_, _ = w.Write(text) // the viewer may have gone
})
