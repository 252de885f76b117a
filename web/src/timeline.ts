// Calls of the last seconds, on a line for each process that has received some.

import { Painter } from "./canvas.ts";
import { callName, duration } from "./format.ts";
import type { Look, TracedCall } from "./records.ts";
import { colors, onThemeChange } from "./theme.ts";

/** Calls and seconds that are kept. */
const CALLS_MAX = 20_000;
const KEPT_NS = 120e9;
const LANE_HEIGHT = 20;
const NAMES_WIDTH = 120;
const AXIS_HEIGHT = 16;
const SPAN_MIN_NS = 1e4;

/** A call as it is drawn. */
export interface Bar {
  call: TracedCall;
  start: number;
  end: number;
}

/** A number does not hold nanoseconds since 1970 exactly: times count from a base. */
export function bar(call: TracedCall, base: number): Bar {
  const start = call.unix_ns - base;
  return { call, start, end: start + (call.total_ns ?? 0) };
}

/** The lanes of receivers, those with the most calls first. */
export function lanes(bars: Bar[], start: number, end: number): Map<number, Bar[]> {
  const found = new Map<number, Bar[]>();
  for (const it of bars) {
    if (it.end < start || it.start > end) continue;
    const receiver = it.call.to_pid ?? 0;
    const lane = found.get(receiver);
    if (lane) lane.push(it);
    else found.set(receiver, [it]);
  }
  return new Map([...found].sort(([, a], [, b]) => b.length - a.length));
}

export class Timeline {
  private bars: Bar[] = [];
  private base = 0;
  /** The latest time, from the base, and the part that is shown: a span before an end, which is the latest time unless it was moved. */
  private now = 0;
  private span = 10e9;
  private end: number | null = null;
  private shown: { bars: Bar[]; top: number }[] = [];
  private readonly painter: Painter;
  private selected: TracedCall | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly status: HTMLElement,
    private readonly choose: (call: TracedCall) => void,
  ) {
    this.painter = new Painter(canvas, () => this.paint());
    onThemeChange(() => this.painter.request());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.drag(event));
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("keydown", (event) => this.press(event));
  }

  take(look: Look): void {
    if (this.base === 0) this.base = look.at_ms * 1e6;
    this.now = look.at_ms * 1e6 - this.base;
    for (const call of look.trace.ended) this.bars.push(bar(call, this.base));
    this.bars = this.bars.filter((it) => it.end > this.now - KEPT_NS).slice(-CALLS_MAX);
    const { omitted, dropped, failure } = look.trace;
    const parts = [failure ? `calls are not traced: ${failure}` : `${duration(this.span)} shown`];
    if (omitted > 0) parts.push(`${omitted} shorter calls of the last look are not drawn`);
    if (dropped > 0) parts.push(`${dropped} records were dropped`);
    this.status.textContent = parts.join("; ");
    this.painter.request();
  }

  zoomBy(factor: number, around = 0.5): void {
    const end = this.end ?? this.now;
    const middle = end - this.span * (1 - around);
    const span = Math.min(KEPT_NS, Math.max(SPAN_MIN_NS, this.span * factor));
    // At the latest moment the view goes on with the time.
    this.end = this.end === null && around === 0.5 ? null : middle + span * (1 - around);
    this.span = span;
    this.painter.request();
  }

  moveBy(part: number): void {
    const end = (this.end ?? this.now) + this.span * part;
    this.end = end >= this.now ? null : end;
    this.painter.request();
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const width = this.painter.width - NAMES_WIDTH;
    if (event.shiftKey) this.moveBy(Math.sign(event.deltaY) * 0.1);
    else this.zoomBy(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, (event.offsetX - NAMES_WIDTH) / width)));
  }

  private drag(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    let last = event.clientX;
    const move = (moved: PointerEvent): void => {
      this.moveBy((last - moved.clientX) / (this.painter.width - NAMES_WIDTH));
      last = moved.clientX;
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", () => this.canvas.removeEventListener("pointermove", move), { once: true });
  }

  private press(event: KeyboardEvent): void {
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.moveBy(-0.2),
      ArrowRight: () => this.moveBy(0.2),
      ArrowUp: () => this.step(-1),
      ArrowDown: () => this.step(1),
      End: () => this.moveBy(Infinity),
      "+": () => this.zoomBy(0.8),
      "-": () => this.zoomBy(1.25),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  private click(event: MouseEvent): void {
    const lane = this.shown.find(({ top }) => event.offsetY >= top && event.offsetY < top + LANE_HEIGHT);
    const width = this.painter.width - NAMES_WIDTH;
    const start = (this.end ?? this.now) - this.span;
    const time = start + ((event.offsetX - NAMES_WIDTH) / width) * this.span;
    const reach = (this.span / width) * 3;
    const hits = lane?.bars.filter((it) => it.start - reach <= time && time <= it.end + reach) ?? [];
    // A bar within another is drawn on top of it.
    hits.sort((a, b) => a.end - a.start - (b.end - b.start));
    this.select(hits[0]);
  }

  /** Chooses the next of the calls that are shown, by when they began, or the one before. */
  private step(by: 1 | -1): void {
    const bars = this.shown.flatMap((lane) => lane.bars).sort((a, b) => a.start - b.start);
    const at = bars.findIndex((it) => it.call === this.selected);
    const next = at < 0 ? bars.at(-1) : bars[at + by];
    if (next) this.select(next);
  }

  private select(bar: Bar | undefined): void {
    this.selected = bar?.call ?? null;
    if (this.selected) this.choose(this.selected);
    this.painter.request();
  }

  private paint(): void {
    const { context, width, height } = this.painter;
    const { text, faint, edge, busy, call: queued, bad, accent } = colors();
    const end = this.end ?? this.now;
    const start = end - this.span;
    const perNs = (width - NAMES_WIDTH) / this.span;
    const x = (time: number): number => NAMES_WIDTH + (time - start) * perNs;
    context.font = "11px system-ui, sans-serif";
    this.paintAxis(start, x);
    this.shown = [];
    let top = AXIS_HEIGHT;
    for (const [pid, bars] of lanes(this.bars, start, end)) {
      if (top + LANE_HEIGHT > height) break;
      this.shown.push({ bars, top });
      context.fillStyle = text;
      context.textAlign = "left";
      const name = bars[0]?.call.to_name ?? "nobody";
      context.fillText(`${name} ${pid}`, 4, top + 14, NAMES_WIDTH - 8);
      context.save();
      context.beginPath();
      context.rect(NAMES_WIDTH, top, width, LANE_HEIGHT);
      context.clip();
      for (const it of bars) {
        const served = it.start + (it.call.queue_ns ?? 0);
        const color = it.call === this.selected ? accent : it.call.is_error ? bad : busy;
        context.globalAlpha = 0.75;
        context.fillStyle = queued;
        context.fillRect(x(it.start), top + 8, (served - it.start) * perNs, 4);
        context.fillStyle = color;
        context.fillRect(x(served), top + 3, Math.max(1.5, (it.end - served) * perNs), LANE_HEIGHT - 6);
        if ((it.end - served) * perNs > 60) {
          context.globalAlpha = 1;
          context.fillStyle = text;
          context.fillText(callName(it.call), x(served) + 3, top + 14, (it.end - served) * perNs - 6);
        }
      }
      context.restore();
      context.strokeStyle = edge;
      context.strokeRect(NAMES_WIDTH, top + LANE_HEIGHT - 0.5, width, 0.1);
      top += LANE_HEIGHT;
    }
    if (this.shown.length === 0) {
      context.fillStyle = faint;
      context.textAlign = "center";
      context.fillText("no call has ended in this time", width / 2, height / 2);
    }
  }

  /** Marks at round times, as seconds before the latest. */
  private paintAxis(start: number, x: (time: number) => number): void {
    const { context } = this.painter;
    const { faint, edge } = colors();
    const step = 10 ** Math.floor(Math.log10(this.span / 2));
    context.fillStyle = faint;
    context.strokeStyle = edge;
    for (let back = Math.floor((this.now - start) / step); back >= 0; back -= 1) {
      const time = this.now - back * step;
      if (time > start + this.span) break;
      // At the right edge there is room to the left of the mark only.
      context.textAlign = back === 0 && this.end === null ? "right" : "center";
      context.fillText(back === 0 ? "now" : `-${duration(back * step)}`, x(time), 11);
      context.strokeRect(x(time), AXIS_HEIGHT, 0.1, this.painter.height);
    }
  }
}
