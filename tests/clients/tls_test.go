package clients_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// authority signs certificates for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority() authority {
	key := check.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := check.Must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	return authority{check.Must(x509.ParseCertificate(der)), key}
}

// sign returns a certificate and its key as PEM.
func (a authority) sign(name string) (certificate, key []byte) {
	own := check.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := check.Must(x509.CreateCertificate(rand.Reader, template, a.certificate, &own.PublicKey, a.key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: check.Must(x509.MarshalECPrivateKey(own))})
}

// TestTLSWithAnOwnAuthorityAndAClientCertificate runs a real server that accepts only
// clients with a certificate.
func TestTLSWithAnOwnAuthorityAndAClientCertificate(t *testing.T) {
	ca, dir := newAuthority(), t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate, key := ca.sign("server")
	port := strconv.Itoa(check.Must(redistest.FreePort()))
	redistest.Start(t, "--tls-port", port, "--tls-auth-clients", "yes",
		"--tls-cert-file", write("server.pem", certificate), "--tls-key-file", write("server.key", key),
		"--tls-ca-cert-file", write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.certificate.Raw})))

	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	pair := check.Must(tls.X509KeyPair(ca.sign("client")))
	url, good := "rediss://127.0.0.1:"+port, &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	c := fixture.Open(t, url, redlatch.Config{TLS: good})
	other := fixture.Open(t, url, redlatch.Config{TLS: good})
	h := check.Must(c.Mutex("job").Lock(t.Context()))
	got := make(chan error, 1)
	go func() {
		h, err := other.Mutex("job").Lock(t.Context())
		if err == nil {
			err = h.Unlock(t.Context())
		}
		got <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return other.Stats().Subscriptions == 1 }, "the other waits, with messages")
	_ = h.Unlock(t.Context())
	if err := <-got; err != nil {
		t.Error(err)
	}

	for _, scheme := range []string{"redis", "redis+cluster"} { // it hangs up, and says nothing
		_, err := redlatch.Open(t.Context(), scheme+"://127.0.0.1:"+port, redlatch.Config{})
		if !errors.Is(err, rueidis.ErrHungUp) || !strings.Contains(err.Error(), "begins with "+strings.Replace(scheme, "redis", "rediss", 1)+"://") {
			t.Errorf("%s:// at a port for TLS: error %v", scheme, err)
		}
	}
	for what, cfg := range map[string]*tls.Config{
		"no authority":   nil,
		"no certificate": {RootCAs: roots},
		"another name":   {RootCAs: roots, Certificates: good.Certificates, ServerName: "elsewhere"},
	} {
		if c, err := redlatch.Open(t.Context(), url, redlatch.Config{TLS: cfg, CommandTimeout: time.Second}); err == nil {
			t.Errorf("%s: connected", what)
			_ = c.Close(t.Context())
		}
	}
}
