// Package e2e looks at the console with a real browser. It is a module of its own, so that the
// browser's library is none of redlatch's.
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is the one of this run; each test has a tab of its own.
var browser context.Context

// runWithin bounds the whole run.
const runWithin = 5 * time.Minute

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	program, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, "install chromium (Debian: apt-get install chromium)")
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), runWithin)
	defer cancel()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), // containers have neither
		chromedp.WSURLReadTimeout(40*time.Second))
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	defer end()
	browser, end = chromedp.NewContext(ctx)
	defer end()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintln(os.Stderr, "start chromium:", err)
		return 1
	}
	return m.Run()
}
