"""How the pages look: few colours, in light and in dark."""

__all__ = ("CSS",)

CSS = """
:root { --ink: #0f172a; --soft: #475569; --line: #e2e8f0; --back: #f8fafc; --card: #ffffff; --blue: #2563eb;
  --work: #1d4ed8; --wait: #b45309; --hold: #7e22ce; --bad: #b91c1c; --calm: #475569; }
body.body--dark { --ink: #e2e8f0; --soft: #94a3b8; --line: #263244; --back: #0b1220; --card: #131c2e; --blue: #60a5fa;
  --work: #60a5fa; --wait: #fbbf24; --hold: #c084fc; --bad: #f87171; --calm: #94a3b8; }
body { background: var(--back) !important; color: var(--ink); font-family: system-ui, sans-serif; }
.nicegui-content { padding: 0; gap: 0; width: 100%; }
.af-head { width: 100%; background: var(--card); border-bottom: 1px solid var(--line); padding: 10px 20px 0; }
.af-brand { font-weight: 650; font-size: 1.05rem; }
.af-fleet { color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
.af-nav { display: flex; flex-wrap: nowrap; gap: 4px; overflow-x: auto; width: 100%; }
.af-nav a { color: var(--soft); text-decoration: none; padding: 8px 12px; border-bottom: 2px solid transparent;
  white-space: nowrap; }
.af-nav a:hover { color: var(--ink); }
.af-nav a.af-here { color: var(--blue); border-color: var(--blue); font-weight: 600; }
.af-body { width: 100%; max-width: 1400px; margin: 0 auto; padding: 16px 20px 32px; display: flex;
  flex-direction: column; gap: 16px; }
.af-over { width: 100%; background: #b91c1c; color: #fff; padding: 8px 20px; }
.af-card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.af-cards { display: flex; flex-wrap: wrap; gap: 12px; width: 100%; }
.af-cards > .af-card { flex: 1 1 220px; min-width: 0; }
.af-label { color: var(--soft); font-size: .78rem; }
.af-big { font-size: 1.3rem; font-weight: 620; overflow-wrap: anywhere; }
.af-title { font-size: 1rem; font-weight: 620; }
.af-soft { color: var(--soft); overflow-wrap: anywhere; }
.af-text { overflow-wrap: anywhere; white-space: pre-wrap; }
.af-chips { display: flex; flex-wrap: wrap; gap: 6px 14px; }
.tone-work, .tone-wait, .tone-hold, .tone-bad, .tone-calm { font-weight: 550; }
.tone-work::before, .tone-wait::before, .tone-hold::before, .tone-bad::before, .tone-calm::before { content: "";
  display: inline-block; width: 8px; height: 8px; border-radius: 50%; background: currentColor; margin-right: 7px;
  flex: none; }
.tone-work { color: var(--work); } .tone-wait { color: var(--wait); } .tone-hold { color: var(--hold); }
.tone-bad { color: var(--bad); } .tone-calm { color: var(--calm); }
.af-grid .ag-cell[class*="tone-"] { display: flex; align-items: center; }
.af-grid .ag-cell.af-top { align-items: flex-start; padding-top: 7px; line-height: 1.4; }
.af-grid .ag-cell.af-top::before { margin-top: 6px; }
.af-grid .ag-cell-wrap-text { line-height: 1.4; padding-top: 7px; padding-bottom: 7px; }
.af-grid { width: 100%; } .af-grid .ag-root-wrapper { border-radius: 10px; }
.af-grid .ag-row.af-first { border-bottom: 2px solid var(--calm); }
.af-grid.af-link .ag-row { cursor: pointer; }
.af-bar { height: 8px; border-radius: 4px; background: var(--line); display: flex; overflow: hidden; width: 100%; }
.af-bar > .af-settled { background: var(--blue); height: 100%; }
.af-still .af-levers, .af-still .af-steers { display: none; }
.af-levers { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.af-grid, .af-grid [class*="ag-theme-params"] { --ag-background-color: var(--card) !important;
  --ag-foreground-color: var(--ink) !important; --ag-border-color: var(--line) !important;
  --ag-header-background-color: var(--back) !important; --ag-header-text-color: var(--soft) !important;
  --ag-chrome-background-color: var(--back) !important; }
body.body--dark { --q-primary: #60a5fa !important; --q-negative: #f87171 !important; --q-positive: #4ade80 !important;
  --q-warning: #fbbf24 !important; }
body.body--dark .q-btn.text-white .q-btn__content, body.body--dark .q-notification__content { color: #0b1220; }
.af-body a, .af-body a:visited { color: var(--blue); }
.af-receipt { font-weight: 600; white-space: nowrap; }
.af-line { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.q-btn { text-transform: none; }
.af-tabs { display: flex; gap: 4px; border-bottom: 1px solid var(--line); width: 100%; }
.af-tabs .q-btn .q-btn__content { color: var(--soft); }
.af-tabs .q-btn { border-bottom: 2px solid transparent; border-radius: 0; }
.af-tabs .q-btn.af-here .q-btn__content { color: var(--blue); } .af-tabs .q-btn.af-here { border-color: var(--blue); }
.af-scroll { display: flex; flex-direction: column-reverse; overflow-y: auto; max-height: 75vh; width: 100%; }
.af-turn { border-left: 3px solid var(--line); padding: 2px 0 2px 12px; width: 100%; }
.af-turn.af-assistant { border-color: var(--blue); } .af-turn.af-user { border-color: var(--wait); }
.af-turn.af-tool { border-color: var(--calm); }
.af-live { animation: af-live 1.6s ease-in-out infinite alternate; }
@keyframes af-live { from { border-color: var(--blue); } to { border-color: transparent; } }
@media (prefers-reduced-motion: reduce) { .af-live { animation: none; } }
.af-fold { width: 100%; } .af-fold > summary { display: list-item; list-style: disclosure-closed inside;
  cursor: pointer; color: var(--soft); font-size: .85rem; }
.af-fold[open] > summary { list-style-type: disclosure-open; }
.af-fold > summary > div { display: inline; }
.af-call { font-weight: 600; margin-top: 4px; }
.af-code { font-family: ui-monospace, monospace; font-size: .85rem; background: var(--back); border-radius: 6px;
  padding: 6px 8px; }
.nicegui-error-popup { margin: 16px; padding: 14px 20px 14px 48px; border: 1px solid var(--bad);
  border-radius: 10px; background: var(--card) !important; color: var(--ink); max-width: calc(100vw - 32px); }
.nicegui-error-popup > span:first-child { color: var(--bad); }
.q-notification__actions .q-btn__content { color: #fff; }
body.body--dark .q-notification__actions .q-btn__content { color: #0b1220; }
.af-choice { width: 200px; flex: none; }
.af-ask { max-width: 460px; background: var(--card) !important; color: var(--ink); }
a:focus-visible, button:focus-visible, summary:focus-visible, .af-scroll:focus-visible {
  outline: 2px solid var(--blue) !important; outline-offset: 2px; }
@media (max-width: 600px) { .af-head { padding: 10px 12px 0; } .af-body { padding: 12px; }
  .af-nav a { padding: 8px 9px; } }
"""
