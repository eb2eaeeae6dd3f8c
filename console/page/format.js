// How numbers and names are written.

const number = new Intl.NumberFormat("en");

export const count = (n) => number.format(n);

export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

// left is a remaining time: with a tenth below ten seconds.
export function left(ms) {
  if (ms <= 0) return "0.0 s";
  if (ms < 9950) return (ms / 1000).toFixed(1) + " s";
  return span(ms);
}

// span is a time in the unit that fits.
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 100) return s + " s";
  if (s < 6000) return Math.floor(s / 60) + " min";
  if (s < 360000) return Math.floor(s / 3600) + " h";
  return Math.floor(s / 86400) + " d";
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const time = (ms) => clock.format(ms);

// shortOwner is an owner "uuid:number" in few letters.
export function shortOwner(owner) {
  const found = /^([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:(\d+)$/i.exec(owner);
  return found ? `${found[1]}:${found[2]}` : owner;
}

// label is whom people know: the name of the process, or else the owner.
export const label = (party) => party.name || shortOwner(party.owner);
