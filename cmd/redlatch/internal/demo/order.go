package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// order is for whoever enters next: stay inside for so long. It lies in the folder
// and not in one worker's stdin, because nobody knows who will be next.
type order struct {
	Stay time.Duration `json:"stayNanos,omitempty"`
	// Doomed: the worker will be killed inside. It need not know; the parent
	// wants to be told which one it is.
	Doomed bool `json:"doomed,omitempty"`
}

const orderName = "order"

// give lays an order down, in the place of one that nobody has taken.
func (o order) give(folder string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	draft := filepath.Join(folder, orderName+".draft")
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return fmt.Errorf("give an order: %w", err)
	}
	return os.Rename(draft, filepath.Join(folder, orderName))
}

// takeOrder takes the order if there is one. Renaming makes it one worker's, also
// where the lock should let two inside.
func takeOrder(folder string, worker int) (order, error) {
	var o order
	mine := filepath.Join(folder, fmt.Sprintf("%s.w%d", orderName, worker))
	err := os.Rename(filepath.Join(folder, orderName), mine)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, fmt.Errorf("take an order: %w", err)
	}
	text, err := os.ReadFile(mine)
	if err != nil {
		return o, fmt.Errorf("take an order: %w", err)
	}
	return o, json.Unmarshal(text, &o)
}
