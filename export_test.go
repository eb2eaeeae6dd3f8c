package redlatch

import "fmt"

// ParseURL tells what a URL is understood to say, secrets included.
func ParseURL(text string) (string, error) {
	t, err := parseURL(text)
	return fmt.Sprintf("%v as %q:%q, sentinels as %q:%q", t, t.username, t.password, t.sentinelUsername, t.sentinelPassword), err
}
