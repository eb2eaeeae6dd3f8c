package main

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/internal/connect"
)

// credentials returns the URL and what logs in beside it. The password of --password-file is read
// anew for each connection, so that it can be rotated.
func (s *server) credentials(text string) (string, func(context.Context, string) (user, password string, err error), error) {
	if s.passwordFile == "" {
		return text, nil, nil
	}
	user, password, bare := splitUser(text)
	if password != "" {
		return "", nil, exit(exitUsage, "--password-file: the URL has a password as well")
	}
	user, err := url.PathUnescape(user)
	if err != nil {
		return "", nil, exit(exitUsage, "in the user of the URL, a %% is written as %%25")
	}
	if _, err := s.readPassword(); err != nil {
		return "", nil, err
	}
	return bare, func(context.Context, string) (string, string, error) {
		password, err := s.readPassword()
		return user, password, err
	}, nil
}

// readPassword reads the password file. Its last end of line is not part of the password.
func (s *server) readPassword() (string, error) {
	text, err := readFile("password-file", s.passwordFile)
	password := strings.TrimRight(string(text), "\r\n")
	if err == nil && password == "" {
		err = exit(exitUsage, "--password-file %s: it is empty", s.passwordFile)
	}
	return password, err
}

// splitUser takes user and password out of a URL, as they are written there.
func splitUser(text string) (user, password, bare string) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return "", "", text
	}
	end := len(rest)
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		end = at
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return "", "", text
	}
	user, password, _ = strings.Cut(rest[:at], ":")
	return user, password, scheme + "://" + rest[at+1:]
}

// withoutPasswords is a URL that Open has accepted, for another program: it has neither the
// password nor that of the sentinels.
func withoutPasswords(text string) string {
	user, _, bare := splitUser(text)
	scheme, rest, _ := strings.Cut(bare, "://")
	rest, query, _ := strings.Cut(rest, "?")
	if user != "" {
		rest = user + "@" + rest
	}
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		name, err := url.QueryUnescape(name)
		return one == "" || err != nil || name == "sentinel_password"
	})
	if len(kept) > 0 {
		rest += "?" + strings.Join(kept, "&")
	}
	return scheme + "://" + rest
}

// handDown is the environment for a command. Its URL of the server has no password.
func handDown(environment []string) (kept []string) {
	for _, one := range environment {
		url, found := strings.CutPrefix(one, serverVariable+"=")
		if !found {
			kept = append(kept, one)
		} else if _, err := connect.Parse(url); err == nil {
			kept = append(kept, serverVariable+"="+withoutPasswords(url))
		}
		// Where the password stands in a wrong URL is not known: the variable is left out.
	}
	return kept
}
