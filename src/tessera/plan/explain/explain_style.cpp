// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/explain/explain.hpp"

namespace tessera::explain {

const std::string_view page_style = R"css(
:root { color-scheme: light dark; --bg: #fbfbfa; --panel: #ffffff; --text: #1d2025; --soft: #667;
  --line: #d9dade; --mark: #e07b00; --wait: #8a8f9a; }
@media (prefers-color-scheme: dark) { :root { --bg: #15171b; --panel: #1d2026; --text: #e4e6ea;
  --soft: #9aa0ab; --line: #343942; --mark: #ffb14a; --wait: #737b89; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2em 1.6em 4em; max-width: 1500px; background: var(--bg);
  color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.35em; margin: 0 0 .2em; overflow-wrap: anywhere; }
h2 { font-size: 1.05em; margin: 0 0 .1em; }
code { font: .92em ui-monospace, monospace; }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .8em 1em; margin: 1em 0; }
.ends, .hint { color: var(--soft); }
.hint { margin: 0 0 .6em; }
.cards { display: flex; flex-wrap: wrap; gap: .6em; margin: .8em 0; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .4em .8em; display: flex; flex-direction: column; }
.card b { font-size: 1.15em; }
.card span { color: var(--soft); font-size: .85em; }
.scroll { overflow: auto; max-height: 32em; }
table { border-collapse: collapse; width: 100%; font-size: .92em; }
th { text-align: left; color: var(--soft); font-weight: 500; position: sticky; top: 0;
  background: var(--panel); }
th, td { padding: .15em 1em .15em 0; white-space: nowrap; vertical-align: top; }
tr + tr td { border-top: 1px solid var(--line); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.tree tr[data-row] { cursor: pointer; }
.tree tr[data-row]:hover td { background: color-mix(in srgb, var(--mark) 10%, transparent); }
.tree tr.on td { background: color-mix(in srgb, var(--mark) 22%, transparent); }
.tree .name { padding-left: calc(var(--depth) * 1.3em); }
.overlap_add, .leaf { display: inline-block; width: 1.3em; border: 0; padding: 0; background: none;
  color: var(--soft); font: inherit; text-align: center; cursor: pointer; }
.times { color: var(--mark); }
.chip { border: 1px solid var(--chip, var(--line)); border-left-width: 5px; border-radius: 4px;
  padding: 0 .4em; margin-right: .3em; font-size: .9em; }
.bar { display: flex; flex-wrap: wrap; gap: .8em; align-items: center; color: var(--soft);
  font-size: .9em; margin-bottom: .4em; }
.bar input { vertical-align: middle; width: 9em; accent-color: var(--mark); }
.rows { display: flex; }
.names { flex: none; padding-right: .4em; font-size: .88em; text-align: right; }
.names div { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; max-width: 23em;
  padding-right: .4em; }
.names small { color: var(--soft); }
.view { flex: 1; overflow-x: auto; min-width: 0; }
svg { display: block; }
svg text { font: 11px system-ui, sans-serif; fill: var(--text); pointer-events: none; }
svg .axis { fill: var(--soft); font-size: 10px; }
svg .grid { stroke: var(--line); }
svg .arena { fill: none; stroke: var(--line); }
svg .wait { fill: none; stroke: var(--wait); opacity: .55; }
svg .wait.hot { stroke: var(--mark); opacity: 1; stroke-width: 2; }
svg .head { fill: var(--wait); }
.box rect { fill: color-mix(in srgb, var(--own) 32%, var(--panel)); stroke: var(--own); }
.box.transfer rect { fill: color-mix(in srgb, var(--own) 12%, var(--panel));
  stroke-dasharray: 4 2; }
.box.call rect { stroke-width: 2.5; }
.box.other rect { fill: color-mix(in srgb, var(--soft) 22%, var(--panel)); stroke: none; }
.box.hot rect, .box.on rect { stroke: var(--mark); stroke-width: 2.5; stroke-dasharray: none; }
.box.on rect { fill: color-mix(in srgb, var(--mark) 45%, var(--panel)); }
#tip { position: fixed; display: none; max-width: 38em; padding: .4em .7em; border-radius: 6px;
  background: var(--text); color: var(--bg); font-size: .88em; white-space: pre-line;
  pointer-events: none; z-index: 9; overflow-wrap: anywhere; }
summary { cursor: pointer; }
)css";

}  // namespace tessera::explain
