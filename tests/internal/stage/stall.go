package stage

import (
	"reflect"
	"sync"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/renew"
)

// StallRenewals holds up the renewal loop of the stage's client until end is called, as a pause of the
// process would. The rest of the client goes on, and can be watched meanwhile.
//
// The loop ends a lease that is over, and this one does not return. No code of a user runs there.
func (s *Stage) StallRenewals() (end func()) {
	field := reflect.ValueOf(s.Client).Elem().FieldByName("locks")
	engine := (*lock.Manager)(unsafe.Pointer(field.Pointer())).Engine()
	lease := stalled{make(chan struct{})}
	engine.Set(&renew.Item{Subject: lease}, renew.Term{Asked: time.Now().Add(-time.Second), Lease: 10 * time.Millisecond})
	synctest.Wait()
	return sync.OnceFunc(func() { close(lease.resume) })
}

// stalled is a lease whose loss holds up the renewal loop.
type stalled struct{ resume chan struct{} }

func (s stalled) Lost(error) { <-s.resume }
