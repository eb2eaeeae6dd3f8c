// Package proctest lets tests watch processes that are not their own children, and sit
// at a terminal.
package proctest
