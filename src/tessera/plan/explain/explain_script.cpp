// SPDX-License-Identifier: Apache-2.0
// Draws the data of the page as SVG. Text only ever becomes text (textContent), never markup.
#include "tessera/plan/explain/explain.hpp"

namespace tessera::explain {

const std::string_view page_script = R"js('use strict';
(() => {
const byId = id => document.getElementById(id);
const all = query => document.querySelectorAll(query);
const data = JSON.parse(byId('data').textContent);
const space = byId('proto').namespaceURI, tip = byId('tip');
const steps = data.steps.map(
  ([label, lane, kind, bytes, flops, row, column, waits, time, operands], i) =>
    ({i, label: data.texts[label], lane, kind, bytes, flops, row, column, waits, time,
      operands: data.texts[operands]}));
const kinds = ['', 'transfer', 'call'];

const draw = (parent, tag, attributes, text) => {
  const e = document.createElementNS(space, tag);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  return parent.appendChild(e);
};
const make = (parent, tag, name, text) => {
  const e = document.createElement(tag);
  if (name) e.className = name;
  if (text !== undefined) e.textContent = text;
  return parent.appendChild(e);
};
const scaled = (n, base, units) => {
  let u = 0;
  for (; n >= base && u + 1 < units.length; ++u) n /= base;
  return (u && n < 100 ? Number(n.toPrecision(3)) : Math.round(n)) + ' ' + units[u];
};
const bytesText = n => scaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
const flopText = n => scaled(n, 1000, ['flop', 'kflop', 'Mflop', 'Gflop', 'Tflop']);
const timeText = us => us < 1 ? Math.round(us * 1000) + ' ns' : scaled(us, 1000, ['µs', 'ms', 's']);
const rounded = us => us < 1000 ? Number(us.toPrecision(6)) + ' µs' : us / 1000 + ' ms';
// "Dense (N,) -> (M,): matmul" does a matmul.
const deed = label => label.slice(label.lastIndexOf(': ') + 1).trim();
const fitting = (text, width) => {
  const n = Math.floor((width - 8) / 6.3);
  return text.length <= n ? text : n < 5 ? '' : text.slice(0, n - 1) + '…';
};

// Devices and links have colours of their own, the same everywhere on the page.
const palette = new Map();
const colour = key => {
  if (!palette.has(key)) palette.set(key, `hsl(${(210 + palette.size * 137.5) % 360} 42% 52%)`);
  return palette.get(key);
};
data.lanes.filter(l => !l.transfers).forEach(l => colour(l.device));
const laneColour = lane => colour(lane.transfers ? lane.name : lane.device);
// Lanes stand by device: what comes in, what it computes, what goes out.
const devices = [...new Set(data.lanes.map(l => l.device))];
const order = l => 3 * devices.indexOf(l.device) +
  (l.transfers ? (l.name.endsWith('> ' + l.device) ? 0 : 2) : 1);
const shown = data.lanes.map((_, k) => k)
  .sort((a, b) => order(data.lanes[a]) - order(data.lanes[b]));
const place = shown.map((_, k) => shown.indexOf(k));

const stepText = s => [
  `step ${s.i}: ${s.label}`,
  (s.kind == 1 ? 'transfer ' : 'on ') + data.lanes[s.lane].name + ': ' + s.operands,
  bytesText(s.bytes) + (s.kind == 1 ? ' moved' : ' touched') +
    (s.flops ? ', ' + flopText(s.flops) : ''),
  s.waits.length ? 'waits for ' + s.waits.join(', ') : '',
  s.time >= 0 ? 'took ' + timeText(s.time) : ''].filter(Boolean).join('\n');

const box = (svg, x, y, w, h, text, name, own) => {
  const g = draw(svg, 'g', {class: 'box ' + name, style: `--own: ${own}`});
  draw(g, 'rect', {x, y, width: Math.max(w, .8), height: h, rx: Math.min(3, w / 4)});
  const fits = fitting(text, w);
  if (fits) draw(g, 'text', {x: x + 4, y: y + h / 2 + 4}, fits);
  return g;
};
const stepBox = (svg, s, x, y, w, h) => {
  const text = s.kind == 1 ? bytesText(s.bytes) : deed(s.label);
  const g = box(svg, x, y, w, h, text, kinds[s.kind], laneColour(data.lanes[s.lane]));
  g.dataset.step = s.i;
  g.dataset.row = s.row;
  return g;
};
// A zoom, names on the left, a drawing that scrolls on the right.
const chart = (parent, zooms, value, rowHeight, top, rows, paint) => {
  const zoom = make(make(make(parent, 'div', 'bar'), 'label', '', 'zoom '), 'input');
  Object.assign(zoom, {type: 'range', min: zooms[0], max: zooms[1], step: 'any', value});
  const body = make(parent, 'div', 'rows');
  const names = make(body, 'div', 'names'), view = make(body, 'div', 'view');
  names.style.paddingTop = top + 'px';
  for (const [first, second, own] of rows) {
    const line = make(names, 'div', '', first);
    if (own) line.style.borderRight = '4px solid ' + own;
    line.style.height = line.style.lineHeight = rowHeight + 'px';
    line.title = first + ' ' + second;
    make(line, 'small', '', ' ' + second);
  }
  const redraw = () => {
    view.textContent = '';
    const svg = draw(view, 'svg', {});
    const [width, height] = paint(svg, Number(zoom.value));
    svg.setAttribute('width', width);
    svg.setAttribute('height', height);
  };
  zoom.addEventListener('input', redraw);
  redraw();
};
// Lines at round numbers, about every 90 pixels.
const grid = (svg, end, perUnit, smallest, text, top, height) => {
  let unit = smallest;
  for (let k = 0; unit * perUnit < 90; ++k) unit *= k % 3 == 1 ? 2.5 : 2;
  for (let t = 0; t <= end; t += unit) {
    const x = t * perUnit;
    draw(svg, 'line', {class: 'grid', x1: x, x2: x, y1: top, y2: height});
    draw(svg, 'text', {class: 'axis', x: x + 3, y: top - 4}, t ? text(t) : '0');
  }
};

const drawLanes = () => {
  const high = 34, top = 6, parent = byId('lanes'), bottom = shown.length * high + top;
  const columns = steps.reduce((m, s) => Math.max(m, s.column + 1), 1);
  const rows = shown.map(k => {
    const lane = data.lanes[k], own = steps.filter(s => s.lane == k);
    return [lane.name, lane.transfers ? 'moves ' + bytesText(own.reduce((n, s) => n + s.bytes, 0))
      : own.length + (own.length == 1 ? ' step' : ' steps'), laneColour(lane)];
  });
  const fit = Math.min(150, Math.max(16, (parent.clientWidth - 260) / columns));
  chart(parent, [5, 180], fit, high, top, rows, (svg, width) => {
    const w = width * .82, end = columns * width;
    const head = draw(draw(svg, 'defs', {}), 'marker', {id: 'arrow', viewBox: '0 0 6 6', refX: 5,
      refY: 3, markerWidth: 6, markerHeight: 6, orient: 'auto'});
    draw(head, 'path', {class: 'head', d: 'M0,0 L6,3 L0,6 z'});
    for (let y = top; y <= bottom; y += high)
      draw(svg, 'line', {class: 'grid', x1: 0, x2: end, y1: y, y2: y});
    const above = s => place[s.lane] * high + top;
    for (const s of steps) for (const u of s.waits) {
      const x1 = steps[u].column * width + w, y1 = above(steps[u]) + high / 2;
      const x2 = s.column * width, y2 = above(s) + high / 2, bend = Math.max(10, (x2 - x1) / 2);
      draw(svg, 'path', {class: 'wait', 'data-from': u, 'data-to': s.i,
        'marker-end': 'url(#arrow)',
        d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`});
    }
    for (const s of steps) stepBox(svg, s, s.column * width, above(s) + 5, w, high - 10);
    return [end + 20, bottom + 4];
  });
};

const drawMemory = () => {
  for (const {device, bytes, blocks} of data.memory) {
    const parent = make(byId('memory'), 'div', 'chart'), top = 18;
    const high = Math.min(320, Math.max(48, 26 * blocks.length));
    const count = blocks.length + (blocks.length == 1 ? ' temporary' : ' temporaries');
    const rows = [[`${device}: ${bytesText(bytes)}`, count, colour(device)]];
    const fit = Math.min(90, Math.max(3, (parent.clientWidth - 300) / steps.length));
    chart(parent, [2, 120], fit, 20, top, rows, (svg, width) => {
      const end = steps.length * width;
      grid(svg, steps.length, width, 1, t => 'step ' + t, top, high + top);
      draw(svg, 'rect', {class: 'arena', x: .5, y: top, width: end, height: high});
      for (const [first, last, offset, size, label, slot] of blocks) {
        const h = Math.max(2, size / bytes * high), y = top + high - offset / bytes * high - h;
        const text = h > 12 ? bytesText(size) + ' ' + data.texts[label] : '';
        const g = box(svg, first * width, y, (last - first + 1) * width - 1, h, text, '',
          colour(device));
        g.dataset.tip = `t${slot}: ${bytesText(size)} at byte ${offset} on ${device}\n` +
          `steps ${first} to ${last}\n${data.texts[label]}`;
      }
      return [end + 50, high + top + 4];
    });
  }
};

const drawTimeline = () => {
  const {tracks, spans, length} = data.trace, high = 28, top = 20, parent = byId('timeline');
  const laneOf = tracks.map((_, k) => spans.find(s => s[0] == k && s[4] >= 0))
    .map(s => s && steps[s[4]] && data.lanes[steps[s[4]].lane]);
  const disk = ['disk -> host', 'host -> disk'];
  const places = {runs: -2, [disk[0]]: -1, [disk[1]]: 1e7};
  const rank = k => laneOf[k] ? order(laneOf[k]) : places[tracks[k]] ?? 1e6;
  const busyOf = k => {
    let until = 0, sum = 0;
    for (const [track, start, took, , step] of spans) {
      if (track != k || (step < 0 && !disk.includes(tracks[k]))) continue;
      const end = Math.min(length, start + took);
      sum += Math.max(0, end - Math.max(until, start));
      until = Math.max(until, end);
    }
    return sum;
  };
  const sorted = tracks.map((_, k) => k).sort((a, b) => rank(a) - rank(b));
  const line = sorted.map((_, k) => sorted.indexOf(k)), bottom = tracks.length * high + top;
  const rows = sorted.map(k => {
    const lane = laneOf[k], link = lane && lane.transfers ? lane.name + ', ' : '';
    const busy = busyOf(k);
    return [tracks[k], tracks[k] == 'runs' ? 'by the host'
      : `${link}${Math.round(100 * busy / (length || 1))} % busy`, lane && laneColour(lane)];
  });
  const room = Math.max(300, parent.clientWidth - 340);
  chart(parent, [0, 6], 0, high, top, rows, (svg, zoom) => {
    const perUnit = room * 2 ** zoom / (length || 1);
    grid(svg, length, perUnit, 1e-3, rounded, top, bottom);
    for (const [track, start, took, name, step, bytes] of spans) {
      const s = steps[step], from = Math.max(0, start), until = Math.min(length, start + took);
      const x = from * perUnit, y = line[track] * high + top + 3, w = (until - from) * perUnit;
      const g = s ? stepBox(svg, s, x, y, w, high - 6)
        : box(svg, x, y, w, high - 6, data.texts[name], 'other', 'var(--soft)');
      const what = s ? stepText(s)
        : `${data.texts[name]}${bytes >= 0 ? '\n' + bytesText(bytes) : ''}\ntook ${timeText(took)}`;
      g.dataset.tip = `${what}\nfrom ${timeText(from)} to ${timeText(start + took)}`;
    }
    return [length * perUnit + 50, bottom + 4];
  });
};

// A step lights up wherever it is drawn, with its waits.
document.addEventListener('mouseover', event => {
  all('.hot').forEach(e => e.classList.remove('hot'));
  const g = event.target.closest && event.target.closest('.box');
  tip.style.display = g ? 'block' : 'none';
  if (!g) return;
  const i = g.dataset.step;
  tip.textContent = g.dataset.tip || stepText(steps[i]);
  if (i === undefined) return;
  all(`[data-step="${i}"], [data-from="${i}"], [data-to="${i}"]`)
    .forEach(e => e.classList.add('hot'));
});
document.addEventListener('mousemove', event => {
  const below = event.clientY + 16, fits = below + tip.offsetHeight < innerHeight;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = (fits ? below : event.clientY - tip.offsetHeight - 8) + 'px';
});

const lines = [...all('.tree tr[data-row]')];
const within = (row, ancestor) => {
  for (; row >= 0; row = data.parents[row]) if (row == ancestor) return true;
  return false;
};
const overlap_add = (line, button) => {
  button.textContent = line.classList.toggle('closed') ? '▸' : '▾';
  const shut = lines.flatMap((e, row) => e.classList.contains('closed') ? [row] : []);
  lines.forEach((e, row) => { e.hidden = shut.some(c => c != row && within(row, c)); });
};
const mark = (line, row) => {
  const on = !line.classList.contains('on');
  all('.on').forEach(e => e.classList.remove('on'));
  if (!on) return;
  line.classList.add('on');
  all('.box[data-row]').forEach(e =>
    e.classList.toggle('on', within(Number(e.dataset.row), row)));
};
lines.forEach((line, row) => line.addEventListener('click', event =>
  event.target.classList.contains('overlap_add') ? overlap_add(line, event.target) : mark(line, row)));

all('.chip[data-device]').forEach(e => e.style.setProperty('--chip', colour(e.dataset.device)));
drawLanes();
drawMemory();
if (data.trace) drawTimeline();
document.body.dataset.drawn = steps.length;
})();
)js";

}  // namespace tessera::explain
