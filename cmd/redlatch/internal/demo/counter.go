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

func openCounter(path string) (counter, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	return counter{file}, err
}

// read returns the number; an empty file is 0.
func (c counter) read() (int64, error) {
	var text [20]byte
	if n, err := c.ReadAt(text[:], 0); n == 0 && err == io.EOF {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("read the counter: %w", err)
	}
	return strconv.ParseInt(string(text[:]), 10, 64)
}

// write writes the number in a fixed width. So it is one short overwrite, and a process
// killed in it leaves the old number or the new one.
func (c counter) write(value int64) error {
	_, err := c.WriteAt(fmt.Appendf(nil, "%020d\n", value), 0)
	return err
}
