// How long the calls of each interface took, look by look: a strip of the last looks each, with classes of latency from
// the bottom up, the darker the more calls.

import { Painter } from "./canvas.ts";
import { element } from "./dom.ts";
import { duration } from "./format.ts";
import type { LatencyRow, Look } from "./records.ts";
import { colors, onThemeChange } from "./theme.ts";

/** Looks that are kept, and interfaces that are shown. */
const LOOKS_MAX = 90;
const STRIPS_MAX = 12;
/** Interfaces that are remembered: clients may make up new ones all the time. */
const STRIPS_KEPT = 100;

/** The longest latency of a class, in nanoseconds. */
export function classEnd(index: number): number {
  return 1000 * 2 ** index;
}

/** The end of the class in which the call is that is longer than so many of a hundred. */
export function percentile(counts: number[], percent: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let left = Math.max(1, Math.ceil((total * percent) / 100));
  for (const [index, count] of counts.entries()) {
    left -= count;
    if (left <= 0) return classEnd(index);
  }
  return 0;
}

export function sum(rows: LatencyRow[]): number[] {
  const total: number[] = [];
  for (const { counts } of rows) counts.forEach((count, index) => (total[index] = (total[index] ?? 0) + count));
  return total;
}

/** The latencies of an interface, look by look. */
interface Strip {
  row: HTMLElement;
  words: HTMLElement;
  painter: Painter;
  /** Numbered as the looks. */
  history: Map<number, LatencyRow>;
}

export class HeatMap {
  private readonly strips = new Map<string, Strip>();
  private looks = 0;

  constructor(private readonly place: HTMLElement) {
    onThemeChange(() => this.repaint());
  }

  take(look: Look): void {
    this.looks += 1;
    for (const row of look.trace.latencies) this.strip(row.interface).history.set(this.looks, row);
    for (const [name, { history, row }] of this.strips) {
      history.delete(this.looks - LOOKS_MAX);
      if (history.size > 0) continue;
      row.remove();
      this.strips.delete(name);
    }
    this.arrange();
    this.repaint();
  }

  private strip(name: string): Strip {
    const known = this.strips.get(name);
    if (known) return known;
    const canvas = element("canvas", "strip");
    // The text beside it says the same to screen readers.
    canvas.setAttribute("aria-hidden", "true");
    const words = element("span", "figures");
    const row = element("div", "heat-row", element("div", "heat-name", element("span", "interface", name), words), canvas);
    row.dataset["interface"] = name;
    const strip: Strip = { row, words, history: new Map(), painter: new Painter(canvas, () => this.paint(strip)) };
    this.strips.set(name, strip);
    return strip;
  }

  /** Shows those with the most calls. */
  private arrange(): void {
    const weighed = [...this.strips].map(([name, strip]) => {
      const counts = sum([...strip.history.values()]);
      const calls = counts.reduce((total, count) => total + count, 0);
      const errors = [...strip.history.values()].reduce((total, row) => total + row.errors, 0);
      const bad = errors > 0 ? `, ${errors} failed` : "";
      strip.words.textContent = `${calls} calls${bad}, half < ${duration(percentile(counts, 50))}, 99 % < ${duration(percentile(counts, 99))}`;
      return { name, strip, calls };
    });
    weighed.sort((a, b) => b.calls - a.calls);
    for (const { name } of weighed.slice(STRIPS_KEPT)) this.strips.delete(name);
    const shown = weighed.slice(0, STRIPS_MAX).map(({ strip }) => strip.row);
    if (shown.some((row, index) => this.place.children[index] !== row) || this.place.children.length !== shown.length) {
      this.place.replaceChildren(...shown);
    }
  }

  private repaint(): void {
    for (const { painter } of this.strips.values()) painter.request();
  }

  private paint({ painter, history }: Strip): void {
    const { context, width, height } = painter;
    const { busy, edge } = colors();
    const total = sum([...history.values()]);
    // Classes without a call at either end are left out.
    const first = Math.max(0, total.findIndex((count) => count > 0) - 1);
    const last = Math.min(total.length - 1, total.findLastIndex((count) => count > 0) + 1);
    const most = Math.max(...[...history.values()].flatMap((row) => row.counts));
    const [columnWidth, rowHeight] = [width / LOOKS_MAX, height / (last - first + 1)];
    context.fillStyle = busy;
    for (const [look, { counts }] of history) {
      const x = width - (this.looks - look + 1) * columnWidth;
      for (let index = first; index <= last; index += 1) {
        const count = counts[index] ?? 0;
        if (count === 0) continue;
        context.globalAlpha = 0.15 + (0.85 * Math.log1p(count)) / Math.log1p(most);
        context.fillRect(x, height - (index - first + 1) * rowHeight, columnWidth, rowHeight);
      }
    }
    context.globalAlpha = 1;
    context.strokeStyle = edge;
    context.strokeRect(0.5, 0.5, width - 1, height - 1);
  }
}
