package script

import "io/fs"

// Files are the scripts as they are embedded.
func Files() fs.FS { return files }

// Script names the script that a call runs.
func (c Call) Script() string { return c.script.name }

// Source is the text of that script.
func (c Call) Source() string { return c.script.read().text }

// Words is the command.
func (c Call) Words() []string { return c.command.Words }
