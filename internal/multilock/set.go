package multilock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/internal/lockerr"
)

// Set is the members of a Multi or a Quorum, in the order in which they are taken. Those that
// cannot be told apart keep the order in which they were given.
type Set struct{ Members []Member }

// Locks makes a set whose members are all taken. No two may have one key.
func Locks(maker string, members []Member) (Set, error) {
	s, err := newSet(maker, members)
	if a, _, found := clash(s.Members, func(m Member) string { return m.Ref.Lock }, Member.sameKey); found && err == nil {
		err = Refuse(maker, "%q is there twice, on %s: the second would wait for the first", a.Ref.Name, a.where())
	}
	return s, err
}

// Servers makes a set of which a majority is taken. No two may be on one server.
func Servers(maker string, members []Member) (Set, error) {
	s, err := newSet(maker, members)
	if a, b, found := clash(s.Members, func(Member) string { return "" }, Member.sameServer); found && err == nil {
		err = Refuse(maker, "%q and %q are both on %s: members are counted by distinct server", a.Ref.Name, b.Ref.Name, a.where())
	}
	return s, err
}

func newSet(maker string, members []Member) (Set, error) {
	slices.SortStableFunc(members, Member.before)
	for _, m := range members {
		if m.Ref.Err != nil {
			return Set{}, m.Ref.Err
		}
	}
	s := Set{members}
	return s, s.check(maker)
}

// check refuses a set without members, as the zero value of a Multi or a Quorum has.
func (s Set) check(maker string) error {
	if len(s.Members) == 0 {
		return Refuse(maker, "there is no lock to take")
	}
	return nil
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
