package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/serve"
	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/connect"
)

func newConsole() *cobra.Command {
	var c consoleService
	cmd := &cobra.Command{
		Use:   "console [PATTERN]",
		Short: "Serve a web page that shows every lock",
		Long: `console serves a web page with the locks of the server: who holds each, who
waits, how much of its lease is left, and what is wrong. The page changes as the
locks do. PATTERN selects locks by name, such as 'orders:*'. console runs until
SIGTERM or SIGINT. It reads Redis only while somebody looks.

console changes nothing in Redis. With --allow-unlock it prints a token on
stderr. A viewer who has that token can take a lock away from the holder that
the page shows.

Behind a proxy, --host allows the name under which browsers reach it. The token
is new at each start, unless --token-file names a file that has one.

It listens on this machine alone. Another address needs TLS: --listen-cert and
--listen-key. Every viewer then needs the token, which console prints on stderr.

Exit code:
  0   SIGTERM or SIGINT ended it
  2   the command line is wrong
  70  Redis cannot be reached at the start, or the address of --listen cannot
      be used`,
		Example: "  redlatch console\n  redlatch console --allow-unlock 'orders:*'",
		Args:    onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.pattern = patternOf(args)
			return c.run(cmd)
		},
	}
	c.server.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.listen, "listen", "127.0.0.1:7800", "`ADDRESS` of the page")
	flags.BoolVar(&c.unlock, "allow-unlock", false, "let viewers who have the token take locks away")
	flags.StringSliceVar(&c.hosts, "host", nil, "`NAME` under which browsers reach the page, for example through a proxy")
	flags.StringVar(&c.tokenFile, "token-file", "", "`FILE` that has the token, of at least 32 characters (default: a new token)")
	flags.StringVar(&c.cert, "listen-cert", "", "PEM `FILE` of the page's certificate")
	flags.StringVar(&c.key, "listen-key", "", "PEM `FILE` of the page's private key")
	durationVar(flags, &c.every, "every", "", time.Second, "how often Redis is read while somebody looks")
	return cmd
}

// consoleService is one run of the verb.
type consoleService struct {
	server    server
	listen    string
	unlock    bool
	hosts     []string
	tokenFile string
	cert, key string
	every     time.Duration
	pattern   string

	mu   sync.Mutex
	pair *tls.Certificate // as it was read last, nil without TLS
	lost error            // why it cannot be read since, nil if it can
	log  *slog.Logger
}

func (c *consoleService) run(cmd *cobra.Command) error {
	address, private, err := c.check()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // whoever read the output may have gone
	return c.server.with(ctx, func(client *redlatch.Client) error { return c.show(ctx, cmd, client, address, private) })
}

// show serves the page of a client, at an address. All of a private page needs the token.
func (c *consoleService) show(ctx context.Context, cmd *cobra.Command, client *redlatch.Client, address *net.TCPAddr, private bool) (err error) {
	c.log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	url, _ := c.server.url()
	target, _ := connect.Parse(url)
	options := console.Options{Title: target.String(), Pattern: c.pattern, Every: c.every, Waits: console.ReportedWaits(client.Driver()), Private: private, Hosts: c.hosts, Logger: c.log}
	if c.unlock || private {
		if options.Token, err = c.token(); err != nil {
			return err
		}
	}
	if c.unlock {
		options.Unlock = client
	}
	inspector, err := inspect.New(client.Driver(), inspect.Config{CommandTimeout: time.Second}) // a server that is down delays the others' rows
	if err != nil {
		return failed(err)
	}
	page, err := console.New(inspector, options)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer page.Close()
	listener, err := net.ListenTCP(network(address), address)
	if err != nil {
		return exit(exitFailure, "--listen %s: %v", c.listen, err)
	}
	token := options.Token
	if c.tokenFile != "" {
		token = "" // whoever may have it can read the file
	}
	c.announce(cmd, listener.Addr(), token)
	return c.serve(ctx, listener, page)
}

// token is the token of this run, or that of the file.
func (c *consoleService) token() (string, error) {
	if c.tokenFile == "" {
		return rand.Text() + rand.Text(), nil
	}
	text, err := readFile("token-file", c.tokenFile)
	return strings.TrimSpace(string(text)), err
}

// check returns the address to listen on, and whether every request needs the token.
func (c *consoleService) check() (address *net.TCPAddr, private bool, err error) {
	if _, _, err := net.SplitHostPort(c.listen); err != nil {
		return nil, false, exit(exitUsage, "--listen %s: it takes HOST:PORT, such as 127.0.0.1:7800", c.listen)
	}
	if address, err = net.ResolveTCPAddr("tcp", c.listen); err != nil {
		return nil, false, exit(exitUsage, "--listen %s: %w", c.listen, err)
	}
	private = !address.IP.IsLoopback()
	encrypted := c.cert != ""
	switch {
	case encrypted != (c.key != ""):
		return nil, false, exit(exitUsage, "--listen-cert and --listen-key come together")
	case private && !encrypted:
		return nil, false, exit(exitUsage, "--listen %s: other machines can reach it, so it needs --listen-cert and --listen-key", c.listen)
	case c.every < 100*time.Millisecond:
		return nil, false, exit(exitUsage, "--every %v: at least 100ms", c.every)
	}
	if encrypted {
		c.pair, err = readPair("listen", c.cert, c.key)
	}
	return address, private, err
}

// network keeps to IPv4 if the address is one: net takes 0.0.0.0 for all addresses of IPv6, too.
func network(address *net.TCPAddr) string {
	if address.IP.To4() != nil {
		return "tcp4"
	}
	return "tcp"
}

// announce prints where the page is. The token goes to stderr: stdout may be kept in a log.
func (c *consoleService) announce(cmd *cobra.Command, address net.Addr, token string) {
	scheme := map[bool]string{true: "https", false: "http"}[c.cert != ""]
	link := scheme + "://" + c.reached(address) + "/"
	fmt.Fprintln(cmd.OutOrStdout(), link)
	if token != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "token: %s\nwith the token: %s#token=%s\n", token, link, token)
	}
}

// reached is where browsers reach an address: all addresses together are none, so the certificate
// names the host.
func (c *consoleService) reached(address net.Addr) string {
	host, port, _ := net.SplitHostPort(address.String())
	if c.pair == nil || !net.ParseIP(host).IsUnspecified() {
		return address.String()
	}
	names := slices.DeleteFunc(slices.Clone(c.pair.Leaf.DNSNames), func(name string) bool { return strings.Contains(name, "*") })
	for _, ip := range c.pair.Leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return net.JoinHostPort(append(names, host)[0], port)
}

// pageConnections is how many connections it has at most: some for each viewer.
const pageConnections = 256

// serve serves the page until ctx ends.
func (c *consoleService) serve(ctx context.Context, listener net.Listener, page *console.Console) error {
	server := serve.New(page, pageConnections)
	server.RegisterOnShutdown(page.Close) // streams do not end by themselves
	ended := make(chan error, 1)
	go func() {
		if c.cert != "" {
			server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.certificate}
			ended <- server.ServeTLS(listener, "", "")
			return
		}
		ended <- server.Serve(listener)
	}()
	select {
	case err := <-ended:
		return exit(exitFailure, "--listen %s: %v", c.listen, err)
	case <-ctx.Done():
	}
	serve.Shutdown(server)
	<-ended
	return nil
}

// certificate is read for each connection, for one that is renewed. The last one serves while it
// cannot be read.
func (c *consoleService) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := readPair("listen", c.cert, c.key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.pair = pair
	} else if c.lost == nil {
		c.log.Warn("console: the certificate cannot be read, the last one is used", "reason", err.Error())
	}
	c.lost = err
	return c.pair, nil
}
