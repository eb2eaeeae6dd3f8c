//go:build !unix

package demo

import "errors"

// stop says that no process can be stopped here.
func (p *process) stop() error   { return errors.New("this system cannot stop a process") }
func (p *process) resume() error { return nil }
