// Copy buttons, and the slider that moves a margin.
"use strict";
(() => {
  for (const button of document.querySelectorAll(".copy")) offer(button);

  function offer(button) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }

  // A command with its button, for other scripts.
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

  // Opened from disk a page may lack the clipboard: then the text is selected, to be copied by hand.
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
    }
  }

  function at(share, [low, high], log) {
    return log ? low * (high / low) ** share : low + share * (high - low);
  }

  // Put the dashed line of an effect at another margin.
  function place(line, margin) {
    const { low, high, log } = line.closest(".forest").dataset;
    const value = log !== undefined ? margin : margin * Number(line.dataset.side);
    const share =
      log !== undefined
        ? Math.log(value / low) / Math.log(high / low)
        : (value - low) / (high - low);
    const percent = `${Math.min(100, Math.max(0, 100 * share))}%`;
    line.setAttribute("x1", percent);
    line.setAttribute("x2", percent);
  }
})();
