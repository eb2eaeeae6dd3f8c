package rueidis_test

import "syscall"

// errRefused is what the kernel says when nobody listens.
var errRefused error = syscall.ECONNREFUSED
