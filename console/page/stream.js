// The stream of changes. It is read with fetch, because an EventSource cannot send the token.

const firstPause = 400;
const lastPause = 5000;
const silence = 16000; // the console says something every five seconds

// follow reads the stream for as long as the page lives. It calls take(kind, data) for each event,
// and say(state, why) when the connection changes: "connecting", "live", "away" or "denied".
export function follow(token, take, say) {
  let pause = firstPause;
  let wake = () => {};
  let hurry = () => {}; // wake, unless a viewer has to type the token first
  const again = () => wake();
  addEventListener("online", () => hurry());
  document.addEventListener("visibilitychange", () => document.hidden || hurry());

  const run = async () => {
    for (;;) {
      say("connecting");
      const why = await once(token, take, () => {
        pause = firstPause;
        say("live");
      });
      if (why.denied) {
        say("denied", why.denied);
        await new Promise((resolve) => (wake = resolve));
        continue;
      }
      say("away", why.refused);
      await new Promise((resolve) => {
        wake = hurry = resolve;
        setTimeout(resolve, pause * (0.75 + Math.random() / 2));
      });
      pause = Math.min(2 * pause, lastPause);
    }
  };
  run();
  return again;
}

// once reads one connection to its end. It returns why, if the console said so.
async function once(token, take, live) {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), silence);
  try {
    const answer = await fetch("events", { headers: authorization(token()), signal: abort.signal, cache: "no-store", credentials: "same-origin" });
    const type = answer.headers.get("Content-Type") || "";
    if (type.startsWith("application/json")) return { [answer.status === 401 ? "denied" : "refused"]: (await answer.json()).error };
    if (!type.startsWith("text/event-stream")) return { refused: `The answer (${answer.status}) is that of another program, such as a proxy.` };
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let begun = false;
    for (let rest = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) return {};
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), silence);
      if (!begun) live();
      begun = true;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) event(part, take);
    }
  } catch {
    return {}; // away: it is tried again
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

function event(part, take) {
  let kind = "message";
  let data = "";
  for (const line of part.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (data) take(kind, JSON.parse(data));
}

export const authorization = (token) => (token ? { Authorization: "Bearer " + token } : {});
