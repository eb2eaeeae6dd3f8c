//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// checkStdout refuses a stdout that was closed, for a verb that does nothing but print. The Go
// runtime has opened /dev/null in its place, for reading and writing. Shells open it for writing
// alone. If stderr is like it, the starter wants to hear nothing at all.
func checkStdout() error {
	if isNullBothWays(unix.Stdout) && !isNullBothWays(unix.Stderr) {
		return exit(exitFailure, "stdout is closed: nothing can be printed")
	}
	return nil
}

// isNullBothWays says that a file is /dev/null, open for reading and writing.
func isNullBothWays(fd int) bool {
	var file, null unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR &&
		unix.Fstat(fd, &file) == nil && unix.Stat(os.DevNull, &null) == nil && file.Rdev == null.Rdev &&
		file.Mode&unix.S_IFMT == unix.S_IFCHR
}
