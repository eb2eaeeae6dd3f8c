package script

import (
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/protocol"
)

var recallScript = load("recall", "shape", "announce")

// Noted is what stands beside a lock for one of its owners.
type Noted struct {
	Note   string // what it says of its hold, "" if nothing
	Recall string // what others ask of it (protocol.Recall), "" if nothing
	Told   bool   // a renewal has told it of that
}

// readNoted reads {note, recall, told}. Any other reply is nothing.
func readNoted(r driver.Reply) (n Noted) {
	if len(r.Array) == 3 {
		n = Noted{protocol.ParseNote(r.Array[0].Str), r.Array[1].Str, r.Array[2].Str != ""}
	}
	return n
}

// Recalled is what a text asks of the owner of a lock, nil if nothing.
func Recalled(lock, text string) *lockerr.RecalledError {
	if text == "" {
		return nil
	}
	asked := protocol.ParseRecall(text)
	return &lockerr.RecalledError{Lock: lock, Author: asked.Author, Reason: asked.Reason}
}

// Recall asks an owner of a lock.
func (m Mutex) Recall(owner, text string) Call {
	return recallScript.call(2, m.Lock, protocol.NoteKey(m.Lock, owner), owner, "HEXISTS", text, m.Channel, m.Via.Recalled())
}

// ReadRecalled reads the reply of Recall: whether the owner held it.
func ReadRecalled(r driver.Reply) (bool, error) { return readFlag(recallScript, r) }

// Forget removes the note of an owner.
func (m Mutex) Forget(owner string) Call { return forget(m.Lock, owner) }

func forget(lock, owner string) Call {
	return Call{command: driver.Command{Words: []string{"UNLINK", protocol.NoteKey(lock, owner)}, Key: lock}}.Piggybacked()
}
