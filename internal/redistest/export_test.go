package redistest

import "testing"

// StartOn is Start on a port that is chosen although a server has it, and then on a free one.
func StartOn(t testing.TB, taken *Server) *Server {
	tries, s := 0, new(Server)
	err := s.start(func() (int, error) {
		if tries++; tries == 1 {
			return taken.port, nil
		}
		return FreePort()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

var RoundTrip = roundTrip
