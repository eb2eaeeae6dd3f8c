package sentinel_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Goal: a good connection is not dropped because sentinels of one configuration give its
// server two names, as they do while "announce-hostnames" is introduced one by one.
// Method: the names lead to different servers here, so that a change is seen.
func TestTwoNamesOfOneConfigurationDropNothing(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{"s:1", "s:2", "s:3"} {
		bubble(t, func(t *testing.T, s *stage) {
			d := s.open(t, "s:1", "s:2", "s:3")
			l, err := d.Listen(t.Context(), driver.Events{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			s.say(odd, "b:1", 1)
			time.Sleep(2 * time.Minute)
			select {
			case <-l.Done():
				t.Error("the connections were dropped")
			default:
			}
			wantServer(t, d, "a:1")
			for _, name := range []string{"s:1", "s:2", "s:3"} { // all of them: that applies
				s.say(name, "b:1", 1)
			}
			time.Sleep(15 * time.Second)
			wantServer(t, d, "b:1")
		})
	}
}
