package inspect

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// session is what one client tells the watchdogs.
type session struct {
	due     time.Time // of its next heartbeat, by the server's clock
	pulse   string
	gone    bool // it is overdue, and nobody subscribes to its pulse
	entries map[string]script.SessionEntry
}

// sessions are those of some clients at one moment.
type sessions struct {
	now       time.Time // by the server's clock
	byClient  map[string]*session
	watchdogs []string // alive
}

// addProtection says which holders the watchdogs know, and how those are.
func (i *Inspector) addProtection(ctx context.Context, servers []driver.Server, locks []Lock) {
	all, ok := i.readSessions(ctx, clientsOf(locks))
	if !ok || len(all.byClient) == 0 {
		return
	}
	i.readEntries(ctx, all, locks)
	i.readPulses(ctx, servers, all)
	for n := range locks {
		for h := range locks[n].Holders {
			one := &locks[n].Holders[h]
			one.Protection = all.protection(locks[n].Name, *one)
		}
	}
}

// clientsOf are the clients that hold some of the locks.
func clientsOf(locks []Lock) (clients []string) {
	for _, l := range locks {
		for _, h := range l.Holders {
			if client := clientOf(h.Owner); client != "" && len(client) <= protocol.MaxClientLen {
				clients = append(clients, client)
			}
		}
	}
	slices.Sort(clients)
	return slices.Compact(clients)
}

// readSessions reads when the heartbeats of clients are due, and which watchdogs are alive.
func (i *Inspector) readSessions(ctx context.Context, clients []string) (sessions, bool) {
	all := sessions{byClient: make(map[string]*session)}
	for some := range slices.Chunk(clients, 1000) {
		replies := i.ask(ctx,
			command(protocol.Sessions, append([]string{"ZMSCORE", protocol.Sessions}, some...)...),
			command(protocol.Sessions, "TIME"))
		if replies == nil || !i.known(replies...) || len(replies[0].Array) != len(some) {
			return all, false
		}
		all.now, _ = script.Clock(replies[1])
		for n, client := range some {
			if due, _, ok := script.Moment(replies[0].Array[n].Str); ok {
				all.byClient[client] = &session{due: due, entries: make(map[string]script.SessionEntry)}
			}
		}
	}
	if len(all.byClient) > 0 {
		since := "(" + strconv.FormatInt(all.now.UnixMilli(), 10)
		replies := i.ask(ctx, command(protocol.Watchdogs, "ZRANGEBYSCORE", protocol.Watchdogs, since, "+inf", "LIMIT", "0", strconv.Itoa(script.MaxWatchdogs)))
		if replies != nil && i.known(replies...) {
			for _, r := range replies[0].Array {
				all.watchdogs = append(all.watchdogs, r.Str)
			}
		}
	}
	return all, true
}

// known notes a refusal.
func (i *Inspector) known(replies ...driver.Reply) bool {
	for _, r := range replies {
		if r.Err != nil {
			i.notices.unread(r.Err, "to redlatch:sessions", "What the watchdogs know is")
			return false
		}
	}
	return true
}

// longestEntry is the longest entry of a session that is read, in bytes. No client writes a longer one.
const longestEntry = 128

// readEntries reads what the sessions say of the holders of locks. Anybody may have written into a
// session, so the lengths are read first.
func (i *Inspector) readEntries(ctx context.Context, all sessions, locks []Lock) {
	type place struct{ client, field string }
	var places []place
	for client := range all.byClient {
		places = append(places, place{client, protocol.SessionPulse})
	}
	for _, l := range locks {
		for _, h := range l.Holders {
			if client := clientOf(h.Owner); all.byClient[client] != nil {
				places = append(places, place{client, sessionField(l.Name, h)})
			}
		}
	}
	for some := range slices.Chunk(places, i.batch()) {
		lengths, values := []driver.Command{}, []driver.Command{}
		for _, p := range some {
			key := protocol.SessionKey(p.client)
			lengths = append(lengths, command(key, "HSTRLEN", key, p.field))
		}
		replies := i.ask(ctx, lengths...)
		var kept []place
		for n, r := range replies {
			if key := protocol.SessionKey(some[n].client); i.known(r) && r.Int > 0 && r.Int <= longestEntry {
				kept, values = append(kept, some[n]), append(values, command(key, "HGET", key, some[n].field))
			}
		}
		for n, r := range i.ask(ctx, values...) {
			if i.known(r) {
				all.byClient[kept[n].client].put(kept[n].field, r.Str)
			}
		}
	}
}

func sessionField(lock string, h Holder) string {
	if h.Write {
		return protocol.SessionField(protocol.WriterField(h.Owner), lock)
	}
	return protocol.SessionField(h.Owner, lock)
}

// put takes one field of the session.
func (s *session) put(field, value string) {
	if field == protocol.SessionPulse {
		s.pulse = value
		return
	}
	if _, _, lease, _, ok := protocol.ParseSessionEntry(value); ok {
		s.entries[field] = script.SessionEntry{Lease: script.Duration(lease, time.Millisecond)}.Bounded()
	}
}

// readPulses finds the overdue clients whose processes are gone: nobody subscribes to their pulse.
func (i *Inspector) readPulses(ctx context.Context, servers []driver.Server, all sessions) {
	var late []*session
	var channels []string
	for client, s := range all.byClient {
		if s.due.Before(all.now) && s.pulse != "" && len(s.pulse) <= protocol.MaxClientLen {
			late, channels = append(late, s), append(channels, protocol.PulseChannel(client, s.pulse))
		}
	}
	if len(late) == 0 {
		return
	}
	counts, ok := i.countSubscribers(ctx, servers, "NUMSUB", channels)
	for n, s := range late {
		s.gone = ok && counts[channels[n]] == 0
	}
}

// protection is what the watchdogs know of a holder, nil if nothing.
func (all sessions) protection(lock string, h Holder) *Protection {
	s := all.byClient[clientOf(h.Owner)]
	if s == nil {
		return nil
	}
	entry, ok := s.entries[sessionField(lock, h)]
	if !ok {
		return nil
	}
	p := &Protection{Alive: !s.due.Before(all.now), Dead: s.gone}
	if !p.Alive {
		p.PausedSince = s.due.Add(-entry.Lease / 4) // a heartbeat says that the next one is due by then
		if !p.Dead {
			p.Watchdog = protocol.Serving(all.watchdogs, clientOf(h.Owner))
		}
	}
	return p
}

// ask sends commands that have keys. It returns nothing if ctx has ended.
func (i *Inspector) ask(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 || i.pace.take(ctx, len(commands)) != nil {
		return nil
	}
	replies := i.send(ctx, i.driver.Pipeline, commands)
	if ctx.Err() != nil {
		return nil
	}
	return replies
}

func command(key string, words ...string) driver.Command {
	return driver.Command{Words: words, Key: key}
}
