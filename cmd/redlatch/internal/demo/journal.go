package demo

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"
)

// record is one line of the journal.
type record struct {
	Kind   recordKind `json:"kind"`
	Worker int        `json:"worker"`
	At     int64      `json:"atNanos"` // wall clock; all processes run on one machine
	// Since is when the worker that enters began to wait.
	Since int64 `json:"sinceNanos,omitempty"`
	// Read is what the worker that leaves found; it wrote one more.
	Read int64 `json:"read,omitempty"`
}

type recordKind string

const (
	enter recordKind = "enter" // the lock was granted, the critical section begins
	leave recordKind = "leave" // the increment is written; the release comes next
	quit  recordKind = "quit"  // left without writing, because the hold was lost
	gone  recordKind = "gone"  // the process has ended; At is when it was killed
	torn  recordKind = "torn"  // a line that cannot be read
)

// journal is the file in which every process notes what it does. Each line is one
// append, and the kernel puts them in order.
type journal struct{ file *os.File }

const journalName = "journal"

func openJournal(folder string) (*journal, error) {
	file, err := os.OpenFile(filepath.Join(folder, journalName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file}, nil
}

// add appends a record. It begins a line of its own even where a process that was
// killed in the middle of a write has left half a one.
func (j *journal) add(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(append([]byte{'\n'}, line...), '\n'))
	return err
}

func (j *journal) close() error { return j.file.Close() }

// journalReader follows a journal as it grows.
type journalReader struct {
	file *os.File
	rest []byte // of a line that is not complete yet
}

func readJournal(folder string) (*journalReader, error) {
	file, err := os.Open(filepath.Join(folder, journalName))
	if err != nil {
		return nil, err
	}
	return &journalReader{file: file}, nil
}

// next returns the records that came since it was called last.
func (r *journalReader) next() ([]record, error) {
	fresh, err := io.ReadAll(r.file)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(append(r.rest, fresh...), []byte{'\n'})
	r.rest = bytes.Clone(lines[len(lines)-1])
	var records []record
	for _, line := range lines[:len(lines)-1] {
		if len(line) > 0 {
			records = append(records, parseRecord(line))
		}
	}
	return records, nil
}

func parseRecord(line []byte) record {
	var r record
	if json.Unmarshal(line, &r) != nil || r.Kind == "" {
		return record{Kind: torn}
	}
	return r
}

func (r *journalReader) close() error { return r.file.Close() }

// nanos is a moment as it stands in the journal.
func nanos(t time.Time) int64 { return t.UnixNano() }
