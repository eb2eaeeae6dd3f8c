package redistest

var (
	RoundTrip   = roundTrip
	ReadRequest = readRequest
	Request     = request
)
