package redistest

var (
	RoundTrip = roundTrip
	Request   = request
)
