package protocol

import (
	"crypto/fips140"
	"crypto/sha1"
	"encoding/hex"
)

// Digest is the name by which a server knows a script: the SHA-1 of its text. It is a name
// and protects nothing, so it is exempt from the rules of FIPS 140, under which SHA-1 would
// end the program (GODEBUG=fips140=only).
func Digest(script string) string {
	var digest [sha1.Size]byte
	fips140.WithoutEnforcement(func() { digest = sha1.Sum([]byte(script)) })
	return hex.EncodeToString(digest[:])
}
