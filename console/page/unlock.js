// Taking a lock away, and the token that it needs.

import { el, setText } from "./dom.js";
import { label } from "./format.js";
import { authorization } from "./stream.js";

const place = "redlatch-token";

// The token stays in this tab: no other site and no other tab can send it.
export const token = {
  get: () => {
    try {
      return sessionStorage.getItem(place) || kept;
    } catch {
      return kept;
    }
  },
  set: (text) => {
    kept = text;
    try {
      if (text) sessionStorage.setItem(place, text);
      else sessionStorage.removeItem(place);
    } catch {
      // it lasts as long as the page
    }
  },
};

let kept = "";

// takeFromAddress keeps the token of a link "#token=…", and removes it from the address. It returns
// whether there was one.
export function takeFromAddress() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (!found) return false;
  token.set(found[1]);
  history.replaceState(null, "", location.pathname + location.search + "#/");
  return true;
}

// ask asks whether to ask this owner for a lock, or to take it away. What is asked about does not change while the
// question stands. Done is called after either.
export function ask(row, holder, done) {
  const back = document.activeElement;
  const [what, of, who] = row.kind === "permits" ? ["permit", "Semaphore", "Permit"] : ["lock", "Lock", "Holder"];
  const input = el("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false" });
  const field = el("label", { class: "field" }, el("span", { text: "Token, as the console printed it" }), input);
  const needsToken = (yes) => {
    field.hidden = !yes;
    input.required = yes; // a browser sends no form with an empty required field, also if that is hidden
  };
  needsToken(token.get() === "");
  const error = el("p", { class: "error", role: "alert" });
  const reason = el("input", { id: "reason", autocomplete: "off", maxlength: "256" });
  const first = el("button", { type: "submit", text: "Ask for it" });
  const yes = el("button", { type: "submit", class: "danger", text: "Take it away" });
  const no = el("button", { type: "button", text: "Cancel", onclick: () => dialog.close() });
  const send = async (e) => {
    e.preventDefault();
    const given = input.value.trim() || token.get();
    first.disabled = yes.disabled = true;
    setText(error, "");
    const answer = await post(row, holder, given, e.submitter === yes ? {} : { ask: true, reason: reason.value });
    if (answer.ok) {
      token.set(given);
      dialog.close();
      return done();
    }
    setText(error, answer.error);
    if (answer.status === 401) {
      token.set("");
      needsToken(true);
      input.value = "";
    }
    first.disabled = yes.disabled = answer.status === 409;
    if (!dialog.open) show(); // it was closed meanwhile, and the answer counts
    if (answer.status === 401) input.focus();
    if (answer.status === 409) no.focus();
  };
  const dialog = el("dialog", { class: "question", "aria-labelledby": "question", onclose: () => { dialog.remove(); (back?.isConnected ? back : document.getElementById("main")).focus(); } },
    el("form", { onsubmit: send },
      el("h2", { id: "question", text: `Ask for this ${what}, or take it away?` }),
      el("dl", {}, el("dt", { text: of }), el("dd", {}, el("code", { text: row.name })), el("dt", { text: who }), el("dd", {}, el("strong", { text: label(holder) }), el("code", { text: holder.owner }), el("span", { text: holder.addr || "" }))),
      el("p", { text: holder.asked || "Asked for it, the holder learns who asks and why by its next renewal, and decides when to give it back." }),
      el("p", { text: `Taken away, others can take the ${what} at once. Its holder works on until its next renewal.` }),
      what === "lock" && uncertain(row, holder) && el("p", { class: "uncertain", text: "This key has no expiry, or an owner that no library writes. It may be data and no lock." }),
      el("label", { class: "field" }, el("span", { text: "Reason, for the holder" }), reason),
      field, error, el("div", { class: "buttons" }, no, first, yes)));
  const show = () => {
    document.body.append(dialog);
    dialog.showModal();
    (field.hidden ? no : input).focus();
  };
  show();
}

// uncertain says that a key may be somebody's data.
const uncertain = (row, holder) => row.ends < 0 || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$/i.test(holder.owner);

async function post(row, holder, given, how) {
  try {
    const answer = await fetch("unlock", {
      method: "POST", headers: { "Content-Type": "application/json", ...authorization(given) },
      body: JSON.stringify({ lock: row.id, owner: holder.key, ...how }), signal: AbortSignal.timeout(15000),
    });
    return { ok: answer.ok, status: answer.status, error: answer.ok ? "" : (await answer.json()).error };
  } catch {
    return { ok: false, status: 0, error: "The console cannot be reached. Whether it was done is unknown." };
  }
}
