// Package random is where the library takes its random numbers from: the jitter of pauses and the
// names that must be new. A simulation replaces the source, so that the same seed has the same
// story.
package random

import (
	crypto "crypto/rand"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Source returns a number below n.
type Source func(n uint64) uint64

// source replaces the generators; nil outside of a simulation.
var source atomic.Pointer[Source]

// Replace makes a source the only one in this process, until restore is called.
func Replace(s Source) (restore func()) {
	former := source.Swap(&s)
	return func() { source.Store(former) }
}

// Below is a duration from 0 up to d, without d.
func Below(d time.Duration) time.Duration {
	if s := source.Load(); s != nil {
		return time.Duration((*s)(uint64(d)))
	}
	return rand.N(d)
}

// Shuffle puts a list in a random order.
func Shuffle[T any](list []T) {
	for i := len(list) - 1; i > 0; i-- {
		k := int(Below(time.Duration(i + 1)))
		list[i], list[k] = list[k], list[i]
	}
}

// Text is a text that nobody guesses.
func Text() string {
	if s := source.Load(); s != nil {
		return strconv.FormatUint((*s)(1<<63), 36)
	}
	return crypto.Text()
}

// ID is sixteen random bytes in hexadecimal digits.
func ID() string { return strings.ReplaceAll(UUID(), "-", "") }

// UUID is a fresh UUID of version 4.
func UUID() string {
	var id [16]byte
	if s := source.Load(); s != nil {
		for i := range id {
			id[i] = byte((*s)(256<<(2*i)) >> (2 * i))
		}
	} else {
		_, _ = crypto.Read(id[:]) // never fails: it ends the program instead
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	digits := hex.EncodeToString(id[:])
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}
