"""The look of the HTML report, in light and dark."""

CSS = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1c2128; --dim: #5b6570; --line: #e3e7eb;
  --axis: #9aa4ae; --card: #f7f8fa; --c0: #2a6fbb; --c1: #d9772b; --c2: #3f9b6c; --c3: #b04a7a;
  --c4: #8267b8; --c5: #a68a1e; --c6: #3a9fae; --c7: #8a929b; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181d; --fg: #e4e8ec; --dim: #98a3ae;
  --line: #2a3138; --axis: #5c6670; --card: #1b2026; --c0: #6ba6e8; --c1: #f0a05e; --c2: #6cc79a;
  --c3: #e07fad; --c4: #ab95e0; --c5: #d8bd52; --c6: #67c7d5; --c7: #a9b1b9; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 28px 20px 48px; max-width: 960px; background: var(--bg);
  color: var(--fg); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 36px 0 2px; }
p { margin: 0 0 8px; color: var(--dim); max-width: 76ch; }
svg { display: block; width: 100%; height: auto; margin-top: 6px; }
.grid { stroke: var(--line); } .axis, .tick { stroke: var(--axis); }
.grid, .axis, .tick, .line { fill: none; }
text { fill: var(--dim); font-size: 12px; } .number { font-variant-numeric: tabular-nums; }
.line { stroke-width: 1.6; stroke-linejoin: round; } .line.total { stroke: var(--axis);
  stroke-dasharray: 5 4; }
.fill { opacity: .22; } .stack { opacity: .9; }
.hover { fill: transparent; } .hover:hover { fill: var(--fg); opacity: .08; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px;
  margin: 18px 0 4px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 10px 14px; }
.tile b { display: block; font-size: 21px; line-height: 1.3; } .tile span { color: var(--dim);
  font-size: 13px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 6px 0 0; padding: 0;
  list-style: none; font-size: 13px; color: var(--dim); }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px;
  margin-right: 6px; vertical-align: -1px; }
.legend i.total { height: 0; border-top: 2px dashed var(--axis); border-radius: 0;
  vertical-align: 3px; width: 16px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin-top: 8px; font-size: 14px; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); text-align: right;
  font-variant-numeric: tabular-nums; vertical-align: top; white-space: nowrap; }
th { color: var(--dim); font-weight: 500; } th:first-child, td:first-child, .text {
  text-align: left; } .text { white-space: normal; min-width: 16em; }
footer { margin-top: 36px; color: var(--dim); font-size: 13px; }
"""

COLOURS = "\n".join(
    f".line.c{i} {{ stroke: var(--c{i}); }} .fill.c{i}, .stack.c{i} {{ fill: var(--c{i}); }}"
    f" i.c{i} {{ background: var(--c{i}); }}"
    for i in range(8)
)
"""The eight colours of lines, areas and legends."""
