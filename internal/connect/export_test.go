package connect

import "fmt"

// Secrets is what a URL says, secrets included.
func (t Target) Secrets() string {
	return fmt.Sprintf("%v as %q:%q, sentinels as %q:%q", t, t.username, t.password, t.sentinelUsername, t.sentinelPassword)
}
