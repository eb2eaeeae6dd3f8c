package redlatch

import "github.com/redlatch/redlatch/driver"

// Driver is the connection on which the client works, for what else is to work on it,
// such as fence.Redis or a watchdog.Watchdog. One that Open made ends with the client.
func (c *Client) Driver() driver.Driver { return c.driver }
