package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// counter is a number in a file. Nothing guards it: whoever reads, adds one and
// writes at the same time as another loses an increment.
type counter struct{ file *os.File }

// digits is the width of the number. With a fixed one, a write is a single short
// overwrite, so that a process killed in it leaves the old number or the new one.
const digits = 20

func openCounter(folder string) (*counter, error) {
	file, err := os.OpenFile(filepath.Join(folder, "counter"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &counter{file}, nil
}

// read returns the number; an empty file is 0.
func (c *counter) read() (int64, error) {
	var text [digits]byte
	n, err := c.file.ReadAt(text[:], 0)
	if n == 0 && err == io.EOF {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the counter: %w", err)
	}
	return strconv.ParseInt(string(text[:]), 10, 64)
}

func (c *counter) write(value int64) error {
	_, err := c.file.WriteAt(fmt.Appendf(nil, "%0*d\n", digits, value), 0)
	return err
}

func (c *counter) close() error { return c.file.Close() }
