// Everything on the page is made here. Text goes in as text: there is no HTML made of strings.

// el makes an element. Of attrs, "class", "text" and "on…" have a meaning of their own.
export function el(tag, attrs = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") e.textContent = value;
    else if (name === "class") e.className = value;
    else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

// setText changes a text only if it is another one, so that nothing is laid out again.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

export const byId = (id) => document.getElementById(id);
