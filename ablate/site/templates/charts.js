// Functions for the pages of experiments and of runs: load data, create elements, draw curves.
"use strict";
window.ablateCharts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const loading = {};

  // Load data from a script, because a page that is opened from disk can load no other files.
  function load(file, key) {
    loading[file] ||= new Promise((done, failed) => {
      const tag = document.createElement("script");
      tag.src = file;
      tag.onload = () => done(window.ablate[key]);
      tag.onerror = failed;
      document.head.append(tag);
    });
    return loading[file];
  }

  function make(tag, text, given = {}) {
    const element = document.createElement(tag);
    Object.assign(element, given);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function draw(tag, given, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(given)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // Return a chart for each metric of some runs; no charts if nothing was trained.
  function curves(box, found, data) {
    const metrics = [...new Set(found.flatMap((run) => run.curves.flatMap(Object.keys)))].filter((key) => key !== "step");
    return metrics.map((metric) => chart(box, metric, found, data));
  }

  function chart(box, metric, found, data) {
    const axis = data.metrics[metric] || metric;
    const dashes = found.map((run, i) => (found.slice(0, i).some((one) => data.colours[one.arm] === data.colours[run.arm]) ? " dashed" : ""));
    const room = box.clientWidth - 40;
    const width = (room > 900 ? room / 2 - 12 : Math.min(room, 736)) || 600;
    const [beside, widest] = [24, Math.max(...found.map((run) => run.arm.length)) * 7.5];
    const above = widest > width / 3; // if there is no room beside the lines, the names are above
    const [left, right, top, bottom] = [48, above ? 12 : widest + beside, 26 + (above ? found.length * 16 : 0), 34];
    const height = 196 + top + bottom;
    const points = found.map((run) => line(run, metric));
    const every = points.flat();
    const svg = draw("svg", { class: "curve", role: "img", "aria-label": `${axis} by optimiser step`, viewBox: `0 0 ${width} ${height}`, height });
    if (!every.length) return svg;
    const x = scale(every.map((p) => p[0]), left, width - right);
    const y = scale(every.map((p) => p[1]), height - bottom, top);
    svg.append(draw("text", { x: left, y: 12 }, axis), draw("text", { x: width - right, y: height - 4, "text-anchor": "end" }, "optimiser step"));
    for (const tick of y.ticks)
      svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }), draw("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, tick));
    for (const tick of x.ticks) svg.append(draw("text", { x: x(tick), y: height - bottom + 16, "text-anchor": "middle" }, tick));
    const names = spread(points.map((one) => (one.length ? y(one.at(-1)[1]) : -1)), 14);
    points.forEach((one, number) => {
      const group = draw("g", { class: `arm-${data.colours[found[number].arm]}${dashes[number]}` });
      group.append(draw("path", { d: one.map(([a, b], i) => `${i ? "L" : "M"}${x(a)} ${y(b)}`).join("") }));
      for (const [a, b] of one) group.append(draw("circle", { class: "dot", cx: x(a), cy: y(b), r: 3 }));
      if (one.length) group.append(...(above ? key(found[number].arm, 0, 28 + number * 16) : [named(found[number].arm, x(one.at(-1)[0]) + 8, names[number] + 4)]));
      svg.append(group);
    });
    return svg;
  }

  function named(arm, x, y) {
    return draw("text", { class: "name", x, y }, arm);
  }

  // Return a legend entry: a short line, followed by the name of the arm.
  function key(arm, x, y) {
    return [draw("path", { d: `M${x} ${y - 4}h20` }), named(arm, x + 26, y)];
  }

  function line(run, metric) {
    const curve = run.curves.find((one) => metric in one);
    if (!curve) return [];
    return curve[metric].map((value, i) => [curve.step[i], value]).filter(([a, b]) => a !== null && b !== null);
  }

  // Return a linear scale from values to pixels, with round ticks.
  function scale(values, from, to) {
    const [low, high] = [Math.min(0, ...values), Math.max(...values)];
    const span = high - low || 1;
    const rough = span / 4;
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((s) => s * size).find((s) => s >= rough);
    const place = (value) => from + ((value - low) / span) * (to - from);
    place.ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high * 1.0001; i++) place.ticks.push(Number((i * step).toPrecision(12)));
    return place;
  }

  // Return positions of the names beside the lines, moved apart until no names overlap.
  function spread(places, gap) {
    const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
    const found = [...places];
    order.forEach((index, i) => {
      if (i) found[index] = Math.max(found[index], found[order[i - 1]] + gap);
    });
    return found;
  }

  return { load, make, curves };
})();
