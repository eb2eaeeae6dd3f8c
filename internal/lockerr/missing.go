package lockerr

import (
	"fmt"
	"reflect"
)

// ErrUnmade is the error of a zero value in the place of what a client makes.
var ErrUnmade error = &ConfigError{Field: "lock", Reason: "it was not made by a Client"}

// Missing is a *ConfigError if a value that a caller must pass is nil, or a nil pointer in an interface. It
// returns nil otherwise. Whoever uses such a pointer would panic.
func Missing(field string, value any) error {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Invalid:
		return &ConfigError{Field: field, Reason: "it is nil"}
	case reflect.Pointer, reflect.Func, reflect.Map:
		if v.IsNil() {
			return &ConfigError{Field: field, Reason: "it is a nil " + v.Type().String()}
		}
	}
	return nil
}

// Taken is the error of Lock or TryLock of a lock, which a user may have written. If there is neither a hold nor an error,
// it is a *ConfigError.
func Taken(l interface{ Name() string }, hold any, err error) error {
	if err != nil || Missing("", hold) == nil {
		return err
	}
	return &ConfigError{Field: "lock", Reason: fmt.Sprintf("%q, a %T, has returned neither a hold nor an error", l.Name(), l)}
}
