package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// guard refuses requests that must not be answered, and sets what browsers have to obey.
type guard struct {
	token   [sha256.Size]byte
	private bool
	hosts   []string
	wrong   limiter
	cross   *http.CrossOriginProtection
	log     *slog.Logger
}

func newGuard(o Options) *guard {
	return &guard{
		token: sha256.Sum256([]byte(o.Token)), private: o.Private, hosts: o.Hosts,
		cross: http.NewCrossOriginProtection(), log: o.Logger,
	}
}

// policy lets the page load its own files and nothing else, and lets nobody frame it. Scripts and
// styles inside the page are not run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// all is for every request.
func (g *guard) all(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !g.private && !g.allowed(r.Host) {
			refuse(w, http.StatusMisdirectedRequest, "This name is not allowed for the console. Use its IP address or localhost, or allow the name: redlatch console --host NAME, or Options.Hosts.")
			return
		}
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin)) // not every writer can
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		next.ServeHTTP(w, r)
	})
}

// The bounds of the body of a request. A request takes its lock away within less time.
const (
	bodyWithin = 10 * time.Second
	maxBody    = 4 << 10
)

// allowed says whether a browser may use the name of this request. A page of another site can point a
// name of its own to this machine, but neither localhost nor an IP address.
func (g *guard) allowed(host string) bool {
	host = hostOf(host)
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	return slices.ContainsFunc(g.hosts, func(allowed string) bool { return hostOf(allowed) == host })
}

// hostOf is the host of an address as browsers name it, in one form.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(address, "[]"), "."))
}

// data is for requests that read.
func (g *guard) data(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
			refuse(w, http.StatusForbidden, "Another site asked for this.")
			return
		}
		if g.private && !g.known(w, r) {
			return
		}
		next(w, r)
	})
}

// change is for requests that change something.
func (g *guard) change(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.cross.Check(r); err != nil {
			refuse(w, http.StatusForbidden, "Another site asked for this.")
			return
		}
		if g.known(w, r) {
			next(w, r)
		}
	})
}

// known says whether the request has the token. Otherwise it has answered.
func (g *guard) known(w http.ResponseWriter, r *http.Request) bool {
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given)) // of one length, so that comparing takes one time
	if bearer && given != "" && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="redlatch console"`)
	if !bearer || given == "" {
		refuse(w, http.StatusUnauthorized, "This needs the token that the console printed when it started.")
		return false
	}
	if g.wrong.count(time.Now()) {
		g.log.Warn("console: wrong token", "viewer", r.RemoteAddr)
	}
	refuse(w, http.StatusUnauthorized, "This token is wrong. The console printed it when it started.")
	return false
}
