package redistest

var RoundTrip = roundTrip
