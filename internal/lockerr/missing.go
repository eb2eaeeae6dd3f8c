package lockerr

import "reflect"

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
