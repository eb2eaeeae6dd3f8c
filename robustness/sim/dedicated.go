package sim

import (
	"context"

	"github.com/redlatch/redlatch/driver"
)

// DedicatedPipeline sends commands on a connection of their own, which it closes.
func (l *link) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	c := newCall(ctx, commands)
	var own *conn
	replies := l.do(c, "asks apart "+describe(commands), func() {
		switch {
		case l.process.dead.Load():
			c.fail(errDead)
		case c.ctx.Err() != nil:
		case l.server.down:
			l.after(l.latency(), l.name+" is refused", func() { c.fail(errDown) })
		default:
			own = l.open()
			own.send(c)
		}
	})
	l.post("", func() {
		if own != nil {
			own.cut(0, 0)
		}
	})
	return replies
}
