package demo

import (
	"fmt"
	"io"
	"os"
	"strconv"
)

// counter is a number in a file. Nothing guards it: whoever reads, adds one and
// writes at the same time as another loses an increment.
type counter struct{ *os.File }

// digits is the width of the number. With a fixed one, a write is a single short
// overwrite, so that a process killed in it leaves the old number or the new one.
const digits = 20

func openCounter(path string) (counter, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	return counter{file}, err
}

// read returns the number; an empty file is 0.
func (c counter) read() (int64, error) {
	var text [digits]byte
	n, err := c.ReadAt(text[:], 0)
	if n == 0 && err == io.EOF {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the counter: %w", err)
	}
	return strconv.ParseInt(string(text[:]), 10, 64)
}

func (c counter) write(value int64) error {
	_, err := c.WriteAt(fmt.Appendf(nil, "%0*d\n", digits, value), 0)
	return err
}
