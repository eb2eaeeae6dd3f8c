// Package cluster is the driver for a Redis Cluster. It is put together from drivers of
// single servers, one for each master, and adds what lies between them: which server has
// a slot, what to do when that turns out to be another one, and a listener that hears
// all of them.
//
// # Where a command goes
//
// To the server of its key's slot, as far as is known; without a key, to any. The parts
// of a pipeline for different servers go side by side and fail independently. Nobody
// waits for a server that he has no business with: each is connected to by a goroutine
// of its own, when somebody needs it for the first time, and no lock is held meanwhile.
//
// # Redirections
//
// A server that does not have a slot refuses the command, which has therefore certainly
// not been carried out, and names the one that has it. The command goes there, at most
// maxHops times:
//
//	MOVED   the map is corrected at once, and asked for as a whole in the background
//	ASK     the slot is on its way, and this key is not there any more, or not yet
//	        anywhere: the command goes to the named server behind an ASKING
//
// Every other refusal, such as TRYAGAIN or CLUSTERDOWN, is the caller's to repeat.
//
// Commands of one slot must not overtake each other. When one of a pipeline is refused,
// so are, as a rule, those behind it, and all of them go again, in order. It can be
// otherwise: while a slot is on its way, each key is with one server or the other. Of
//
//	[release a, acquire b]    "release a" ASK    "acquire b" carried out
//
// the first may not follow any more, for then the order would be the reverse, and the
// second cannot be sent again, because it was carried out. So the first is refused with
// TRYAGAIN, as a server would: the caller knows which of its commands may be repeated.
// It will probably repeat both, and would be given the same answer for as long as the
// slot is on its way. So slots that were seen to be are remembered for a second, and
// their commands sent one at a time, each going wherever it has to before the next one.
// An Apart has to stay on one connection and does without that; only WAIT, which
// changes nothing, follows the command that it stands behind.
//
// # Servers that die
//
// The map is asked for when a server redirects, refuses because the cluster is down,
// breaks a connection, cannot be reached, or has owed an answer for two looks of the
// keeper, the driver's own goroutine. Several servers are asked, one after another at
// short distances, and the first answer that is not older than what is known is taken,
// by the cluster's epoch.
//
// A call at a dead server waits there, within its time, for the server to come back. If
// another takes over its slots first, the dead one is hung up on: it has no slots, owes
// answers and gives none. Whatever of its calls had not been sent goes to the successor;
// the rest fail at once with an unknown outcome, which they would have done later.
//
// A server that has lost its slots but answers is let go when it has been idle for a
// while, never under a call.
//
// # Messages
//
// A Listener takes wishes, and the driver carries them out as it can. Every server whose
// slots somebody listens to has an ear: a subscription connection with a goroutine that
// makes it anew when it breaks. There each channel is subscribed to in both ways, by
// SSUBSCRIBE and SUBSCRIBE, so that what one script publishes in both ways arrives in
// its order. A channel counts as subscribed when everything that was asked about it is
// acknowledged; before that it is silent. Whatever then goes wrong, a broken connection,
// an eviction, a slot with a new server, makes it a wish again, and a Subscribed event
// follows in the end. Its receiver takes that for: messages may have been missed.
//
// Acknowledgements that a connection owes are counted by channel, over all requests. So
// the late answer to an earlier request is not taken for the one to a later.
package cluster
