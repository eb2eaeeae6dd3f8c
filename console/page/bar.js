// A lease as a bar that runs down. The browser animates it by itself: the page does nothing in each
// frame, whatever the number of bars.

import { el, setText } from "./dom.js";
import { left } from "./format.js";
import { now, store } from "./store.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const bars = new Set(); // all that are on the page

export class Bar {
  constructor() {
    this.fill = el("i");
    this.text = el("span", { class: "left" });
    this.element = el("div", { class: "lease" }, el("div", { class: "track" }, this.fill), this.text);
    this.ends = this.full = undefined;
    bars.add(this);
  }

  // show shows a lease that ends then, of which at most so much was left.
  show(ends, full) {
    if (ends === this.ends && full === this.full) return;
    this.ends = ends;
    this.full = full;
    this.element.classList.toggle("endless", ends < 0);
    this.element.classList.toggle("free", ends === 0);
    this.run();
    this.tick();
  }

  run() {
    this.animation?.cancel();
    this.animation = null;
    const rest = this.ends - now();
    if (this.ends <= 0) return;
    const part = Math.max(0, Math.min(1, rest / Math.max(1, this.full)));
    this.fill.style.transform = `scaleX(${part})`;
    if (rest > 0 && !still.matches && !frozen()) {
      this.animation = this.fill.animate([{ transform: `scaleX(${part})` }, { transform: "scaleX(0)" }], { duration: rest, fill: "forwards" });
    }
  }

  // tick writes the time that is left, and mends a bar that disagrees with it: because a clock was set,
  // or the machine has slept. It is called once a second.
  tick() {
    if (this.ends === undefined) return;
    const rest = this.ends - now();
    const shown = this.animation ? this.animation.effect.getTiming().duration - this.animation.currentTime : 0;
    if (this.ends > 0 && !frozen() && Math.abs(shown - Math.max(0, rest)) > 500) this.run();
    setText(this.text, this.ends < 0 ? "no end" : this.ends === 0 ? "free" : left(rest));
    this.element.classList.toggle("low", this.ends > 0 && rest < this.full / 5);
  }

  drop() {
    this.animation?.cancel();
    bars.delete(this);
  }
}

// frozen says that nothing is to move: the view is paused, or what it shows is old.
const frozen = () => store.paused || document.body.classList.contains("old");

export const tickBars = () => frozen() || bars.forEach((b) => b.tick());

// restartBars is called when the view is paused or goes on.
export const restartBars = () => bars.forEach((b) => (b.run(), b.tick()));

still.addEventListener("change", restartBars);
