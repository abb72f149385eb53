"""The style sheet of the HTML report: light and dark, print, no fonts or pictures from elsewhere."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fbfaf8; --card: #ffffff; --ink: #1c1b1a; --soft: #6b6762; --line: #e4e0da; --grid: #ece9e4;
  --before: #b4aea5; --before-ink: #7b746a; --after: #0f6e6e; --after-ink: #0b5a5a;
  --pass: #17693c; --pass-wash: #e3f2e8; --fail: #a3262a; --fail-wash: #fae5e4;
  --doubt: #8a5a00; --doubt-wash: #fbf0d9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #151514; --card: #1d1d1b; --ink: #eceae6; --soft: #a09b93; --line: #34322f; --grid: #2a2927;
    --before: #6e6961; --before-ink: #aaa49a; --after: #4fb8b3; --after-ink: #7fd0cb;
    --pass: #7bd09a; --pass-wash: #18301f; --fail: #f0908d; --fail-wash: #3a1c1b;
    --doubt: #e8bd6a; --doubt-wash: #35290f;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 16px/1.55 ui-sans-serif, system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
main { max-width: 880px; margin: 0 auto; padding: 56px 24px 80px; }
h1 { font-size: 34px; line-height: 1.15; letter-spacing: -0.02em; margin: 14px 0 10px; font-weight: 650; }
h2 { font-size: 20px; letter-spacing: -0.01em; margin: 52px 0 6px; font-weight: 650; }
p { margin: 0 0 12px; max-width: 68ch; }
.lead { font-size: 18px; color: var(--soft); }
.note { font-size: 14px; color: var(--soft); }
.kicker { display: flex; gap: 4px 12px; align-items: center; flex-wrap: wrap; font-size: 13px;
  color: var(--soft); }
h1, .kicker { overflow-wrap: anywhere; }
code { font: 13px/1.4 ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.badge { display: inline-block; border-radius: 99px; padding: 2px 11px; font-size: 13px; font-weight: 600;
  white-space: nowrap; }
.badge.pass { color: var(--pass); background: var(--pass-wash); }
.badge.fail { color: var(--fail); background: var(--fail-wash); }
.badge.doubt { color: var(--doubt); background: var(--doubt-wash); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 12px;
  margin: 28px 0 8px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px 18px 14px;
  overflow-wrap: anywhere; }
.tile .what, .tile .more { font-size: 13px; color: var(--soft); }
.tile .big { font-size: 24px; font-weight: 650; letter-spacing: -0.02em; margin: 2px 0; white-space: nowrap; }
.tile .big small { font-size: 16px; font-weight: 500; color: var(--soft); letter-spacing: 0; }
ul { margin: 8px 0 0; padding-left: 20px; }
li { margin: 3px 0; overflow-wrap: anywhere; }
figure { margin: 14px 0 0; padding: 18px 18px 10px; background: var(--card); border: 1px solid var(--line);
  border-radius: 12px; }
figcaption { display: flex; gap: 6px 18px; flex-wrap: wrap; margin-bottom: 10px; font-size: 13px;
  color: var(--soft); }
figcaption i { display: inline-block; width: 18px; height: 0; margin-right: 6px; vertical-align: 4px; }
i.before, i.after { width: 12px; height: 12px; border-radius: 3px; vertical-align: -1px; }
i.before { background: var(--before); }
i.after { background: var(--after); }
i.rule { border-top: 2px dashed var(--soft); }
i.baseline { border-top: 3px solid var(--doubt); }
i.margin { border-top: 2px dashed var(--fail); }
i.bound { border-top: 3px solid var(--ink); }
i.raw { border-top: 2px solid var(--before); }
i.mean { border-top: 3px solid var(--after); }
.plot { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 440px; height: auto; }
svg text { fill: var(--ink); font-size: 13px; font-family: inherit; }
svg .tick, svg .name { fill: var(--soft); font-size: 12px; }
svg .label, svg .value { font-weight: 600; }
svg .value { paint-order: stroke; stroke: var(--card); stroke-width: 4; stroke-linejoin: round; }
svg .value.before { fill: var(--before-ink); font-weight: 500; }
svg .value.after { fill: var(--after-ink); }
svg .bad { fill: var(--fail); }
svg path { fill: none; }
svg .grid { stroke: var(--grid); }
svg .axis, svg .zero { stroke: var(--before); }
svg .rule { stroke: var(--soft); stroke-dasharray: 5 4; stroke-width: 1.5; }
svg .baseline { stroke: var(--doubt); stroke-width: 3; stroke-linecap: round; }
svg .margin { stroke: var(--fail); stroke-dasharray: 5 4; stroke-width: 1.5; }
svg .bound { stroke: var(--ink); stroke-width: 3; }
svg .whisker { stroke: var(--after); stroke-width: 2; }
svg .raw { stroke: var(--before); stroke-width: 1.25; stroke-linejoin: round; }
svg .mean { stroke: var(--after); stroke-width: 2.5; stroke-linejoin: round; }
svg rect.before { fill: var(--before); }
svg rect.after, svg .dot.after { fill: var(--after); }
.scroll { overflow-x: auto; margin-top: 12px; }
.scroll + .scroll { margin-top: 32px; }
.scroll + .note { margin-top: 14px; }
figure + .scroll, figure + ul { margin-top: 20px; }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 13px; }
th, td { padding: 8px 14px 8px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th.n, td.n { text-align: right; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
td.who { font-weight: 550; min-width: 150px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 20px; margin: 12px 0 0;
  font-size: 14.5px; }
dt { color: var(--soft); max-width: 240px; overflow-wrap: anywhere; }
dd { margin: 0; }
footer { margin-top: 56px; padding-top: 4px; border-top: 1px solid var(--line); }
footer h2 { margin-top: 24px; }
@media (max-width: 600px) {
  main { padding: 32px 16px 56px; }
  h1 { font-size: 27px; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 8px; }
}
@media print {
  body { background: none; }
  main { padding: 0; }
  figure, .tile, tr { break-inside: avoid; }
}
"""
