package main

import (
	"net/http"

	"github.com/redlatch/redlatch"
)

// lockStatus is the state of a lock in Redis at the moment of the request.
type lockStatus struct {
	Lock    string       `json:"lock"`
	Locked  bool         `json:"locked"`
	Mode    string       `json:"mode,omitempty"`
	TTL     int64        `json:"ttl_ms"` // -1 without expiry, 0 while free
	Holders []lockHolder `json:"holders"`
}

type lockHolder struct {
	Owner string `json:"owner"`
	Count int    `json:"count"`
}

func (s *service) showStatus(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	status, err := s.inspector.Status(r.Context(), name)
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	write(w, http.StatusOK, newLockStatus(name, status))
}

func newLockStatus(name string, status redlatch.Status) lockStatus {
	shown := lockStatus{Lock: name, Locked: status.Locked, Mode: string(status.Mode), Holders: []lockHolder{}}
	shown.TTL = status.TTL.Milliseconds()
	if status.TTL < 0 {
		shown.TTL = -1 // redlatch says -1 ns
	}
	for _, h := range status.Holders {
		shown.Holders = append(shown.Holders, lockHolder{h.Owner, h.Count})
	}
	return shown
}
