// Copy buttons, the slider that changes a margin, explanations of terms, and links into folded parts.
"use strict";
(() => {
  for (const button of document.querySelectorAll(".copy")) offer(button);

  function offer(button) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }

  // Return a command with its copy button, for other scripts.
  window.ablateCopy = (command) => {
    const box = document.createElement("div");
    const [pre, code, button] = ["pre", "code", "button"].map((tag) => document.createElement(tag));
    box.className = "command";
    code.textContent = command;
    pre.tabIndex = 0;
    pre.append(code);
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
    offer(button);
    box.append(pre, button);
    return box;
  };

  for (const pre of document.querySelectorAll(".report pre")) {
    pre.replaceWith(window.ablateCopy(pre.textContent.trim()));
  }
  for (const margins of document.querySelectorAll(".margins")) slide(margins);

  // A page that is opened from disk may have no access to the clipboard. Then the text is selected.
  async function copy(button) {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }

  function slide(margins) {
    const { low, high, log, unit, row } = margins.dataset;
    const input = margins.querySelector("input");
    const output = margins.querySelector("output");
    const back = margins.querySelector(".back");
    const own = margins.querySelector(".own");
    const [said, start] = [output.textContent, input.value];
    const bands = [...margins.querySelectorAll(".band")];
    const ends = [Number(low), Number(high)];
    input.hidden = false;
    input.addEventListener("input", move);
    back.addEventListener("click", () => {
      input.value = start;
      move();
    });

    function move() {
      const share = input.value / 1000;
      const margin = at(share, ends, log !== undefined);
      const band = bands.findLast((one) => Number(one.dataset.start) <= 100 * share) || bands[0];
      const same = input.value === start;
      output.textContent = same
        ? said
        : `${input.getAttribute("aria-label")} ${Number(margin.toPrecision(3))} ${unit}: ${band.dataset.said}`;
      back.hidden = same;
      own.style.left = `${100 * share}%`;
      for (const line of document.querySelectorAll(`.bound[data-row="${row}"]`)) place(line, margin);
      for (const rect of document.querySelectorAll(`.shade[data-row="${row}"]`)) shade(rect, margin);
    }
  }

  function at(share, [low, high], log) {
    return log ? low * (high / low) ** share : low + share * (high - low);
  }

  // Return the position of a value on the axis of an element, in percent.
  function percent(element, value) {
    const { low, high, log } = element.closest(".panel").dataset;
    const [from, to] = [Number(low), Number(high)];
    const share = log !== undefined ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
    return Math.min(100, Math.max(0, 100 * share));
  }

  // Move the dashed line of an effect to another margin.
  function place(line, margin) {
    const { log } = line.closest(".panel").dataset;
    const at = percent(line, log !== undefined ? margin : margin * Number(line.dataset.side));
    line.setAttribute("x1", `${at}%`);
    line.setAttribute("x2", `${at}%`);
  }

  function shade(rect, margin) {
    const start = rect.closest(".panel").dataset.log !== undefined ? 0 : percent(rect, -margin);
    rect.setAttribute("x", `${start}%`);
    rect.setAttribute("width", `${percent(rect, margin) - start}%`);
  }

  // Open the folded part to which the address links.
  function unfold() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details");
    if (!folded) return;
    folded.open = true;
    folded.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();

  // Open all folded parts while the page is printed.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open]):not(.drill):not(.all)")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
  });

  // Show the meaning of a term beside the term while the mouse or the focus is on it, or after a touch.
  const tip = Object.assign(document.createElement("div"), { id: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  for (const word of document.querySelectorAll("a.term")) {
    word.addEventListener("mouseenter", () => explain(word));
    word.addEventListener("mouseleave", hide);
    word.addEventListener("focus", () => explain(word));
    word.addEventListener("blur", hide);
    word.addEventListener("click", (event) => {
      event.preventDefault();
      explain(word);
    });
  }
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("scroll", hide, { passive: true });

  function explain(word) {
    tip.textContent = window.ablateWords[word.hash.slice(1)];
    tip.hidden = false;
    word.setAttribute("aria-describedby", "tip");
    const [at, width] = [word.getBoundingClientRect(), document.documentElement.clientWidth];
    tip.style.left = `${Math.max(8, Math.min(at.left, width - tip.offsetWidth - 8))}px`;
    const above = at.bottom + tip.offsetHeight + 12 > innerHeight;
    tip.style.top = `${above ? at.top - tip.offsetHeight - 6 : at.bottom + 6}px`;
  }

  function hide() {
    tip.hidden = true;
  }
})();
