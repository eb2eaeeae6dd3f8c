package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"

	"github.com/spf13/pflag"
)

// tlsFiles are the files of an encrypted connection.
type tlsFiles struct{ ca, cert, key string }

func (f *tlsFiles) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.ca, "tls-ca", "", "PEM `FILE` of the certificate authorities to trust, for a rediss:// URL (default: those of the system)")
	flags.StringVar(&f.cert, "tls-cert", "", "PEM `FILE` of the client certificate")
	flags.StringVar(&f.key, "tls-key", "", "PEM `FILE` of the client certificate's key")
}

// config is the TLS configuration, nil if no flag is set.
func (f tlsFiles) config() (*tls.Config, error) {
	switch {
	case f == tlsFiles{}:
		return nil, nil
	case (f.cert == "") != (f.key == ""):
		return nil, exit(exitUsage, "--tls-cert and --tls-key come together")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		text, err := readFile("tls-ca", f.ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, exit(exitUsage, "--tls-ca %s: it has no certificate in PEM", f.ca)
		}
	}
	if f.cert == "" {
		return config, nil
	}
	// Read for each connection, for a certificate that is renewed.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return f.pair() }
	_, err := f.pair()
	return config, err
}

// pair reads the client certificate.
func (f tlsFiles) pair() (*tls.Certificate, error) { return readPair("tls", f.cert, f.key) }

// readPair reads the files of --tls-cert and --tls-key, or of --listen-cert and --listen-key.
func readPair(side, certFile, keyFile string) (*tls.Certificate, error) {
	cert, noCert := readFile(side+"-cert", certFile)
	key, noKey := readFile(side+"-key", keyFile)
	if err := cmp.Or(noCert, noKey); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, exit(exitUsage, "--%s-cert %s, --%s-key %s: %w", side, certFile, side, keyFile, err)
	}
	return &pair, nil
}
