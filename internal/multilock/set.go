package multilock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/internal/lockerr"
)

// Set is the members of a Multi or a Quorum, in the order in which they are taken. Those that
// cannot be told apart keep the order in which they were given.
type Set struct {
	Members []Member
	Err     error // why they cannot be taken as one, nil if they can
}

// Locks makes a set whose members are all taken. No two may have one key.
func Locks(maker string, members []Member, err error) Set {
	s := newSet(maker, members, err)
	if a, _, found := clash(s.Members, func(m Member) string { return m.Ref.Lock }, Member.sameKey); found && s.Err == nil {
		s.Err = Refuse(maker, "%q is there twice, on %s: the second would wait for the first", a.Ref.Name, a.where())
	}
	return s
}

// Servers makes a set of which a majority is taken. No two may be on one server.
func Servers(maker string, members []Member, err error) Set {
	s := newSet(maker, members, err)
	if a, b, found := clash(s.Members, func(Member) string { return "" }, Member.sameServer); found && s.Err == nil {
		s.Err = Refuse(maker, "%q and %q are both on %s: members are counted by distinct server", a.Ref.Name, b.Ref.Name, a.where())
	}
	return s
}

func newSet(maker string, members []Member, err error) Set {
	slices.SortStableFunc(members, Member.before)
	for _, m := range members {
		err = cmp.Or(err, m.Ref.Err)
	}
	return Set{members, cmp.Or(err, Set{Members: members}.Check(maker))}
}

// Check says why the members cannot be taken as one, or nil. The zero value has none.
func (s Set) Check(maker string) error {
	if s.Err == nil && len(s.Members) == 0 {
		return Refuse(maker, "there is no lock to take")
	}
	return s.Err
}

// clash finds two members for which same holds, among those of one kind.
func clash(members []Member, kind func(Member) string, same func(Member, Member) bool) (a, b Member, found bool) {
	earlier := make(map[string][]Member)
	for _, a := range members {
		of := kind(a)
		for _, b := range earlier[of] {
			if same(b, a) {
				return b, a, true
			}
		}
		earlier[of] = append(earlier[of], a)
	}
	return a, b, false
}

// Refuse is the error of a set that cannot be made of these locks.
func Refuse(maker, format string, args ...any) error {
	return &lockerr.ConfigError{Field: maker, Reason: fmt.Sprintf(format, args...)}
}

// Name is the names of the members, in their order, with a + between them.
func (s Set) Name() string { return strings.Join(s.names(), "+") }

// CommonName is the name of the members, or their names with a + between them if they differ.
func (s Set) CommonName() string { return strings.Join(slices.Compact(s.names()), "+") }

func (s Set) names() []string {
	var names []string
	for _, m := range s.Members {
		names = append(names, m.Ref.Name)
	}
	return names
}

// majority is how many members a Quorum needs.
func (s Set) majority() int { return len(s.Members)/2 + 1 }
