// The graph: processes with their objects around them, handles between them, and calls under way.
//
// It is painted: ten thousand objects as elements of the page would be too slow. A list of the processes stands in its place for
// screen readers, and gives the keyboard access to them.

import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import { Painter } from "./canvas.ts";
import { button } from "./dom.ts";
import { duration } from "./format.ts";
import { Layout, nodeOffset, nodeRange, PROCESS_RADIUS, type Box, type Place } from "./layout.ts";
import type { CallBundle, Model, Process, Selection } from "./model.ts";
import { colors, onThemeChange, type Colors } from "./theme.ts";

/** Names are shown from this scale on. */
const LABEL_SCALE = 0.3;
const PAN_STEP = 60;
/** Painted beyond the edges of the canvas, in pixels of the page. */
const MARGIN = 300;

export class Graph {
  private readonly painter: Painter;
  private readonly layout: Layout;
  private readonly behavior: ZoomBehavior<HTMLCanvasElement, unknown>;
  private transform = zoomIdentity;
  /** As it was when the graph was painted. */
  private painted = zoomIdentity;
  private colors: Colors = colors();
  private selection: Selection | null = null;
  /** The part of the plane that is painted, and the process that has the keyboard. */
  private view: Box = { left: 0, top: 0, right: 0, bottom: 0 };
  private focused: number | null = null;
  private isFitted = false;
  private readonly entries = new Map<number, HTMLButtonElement>();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly model: Model,
    private readonly choose: (selection: Selection | null) => void,
  ) {
    this.painter = new Painter(canvas, () => this.paint(), MARGIN);
    this.layout = new Layout(() => this.painter.request());
    this.behavior = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.03, 12])
      .on("zoom", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        this.transform = event.transform;
        const { x, y, k } = event.transform;
        if (k === this.painted.k) this.painter.move(x - this.painted.x, y - this.painted.y);
        else this.painter.request();
      });
    select(canvas).call(this.behavior).on("dblclick.zoom", null);
    canvas.addEventListener("click", (event) => this.click(event));
    onThemeChange(() => {
      this.colors = colors();
      this.painter.request();
    });
  }

  /** Shows the newest state of the model. */
  update(): void {
    this.layout.arrange(this.model);
    if (!this.isFitted && this.layout.places.size > 0) {
      this.isFitted = true;
      this.fit();
    }
    this.list();
    this.painter.request();
  }

  show(selection: Selection | null, isToBeSeen: boolean): void {
    this.selection = selection;
    const point = isToBeSeen && selection ? this.pointOf(selection) : null;
    if (point) this.moveTo(point);
    this.painter.request();
  }

  private moveTo([x, y]: [number, number]): void {
    const scale = Math.max(this.transform.k, 1);
    select(this.canvas).call(this.behavior.scaleTo, scale).call(this.behavior.translateTo, x, y);
  }

  /** Shows all of it. */
  fit(): void {
    const { x, y, width, height } = this.layout.box();
    const scale = Math.min(1.6, (this.painter.width - 30) / width, (this.painter.height - 30) / height);
    const moved = zoomIdentity.translate(this.painter.width / 2, this.painter.height / 2).scale(Math.max(scale, 0.03));
    select(this.canvas).call(this.behavior.transform, moved.translate(-x - width / 2, -y - height / 2));
  }

  pan(right: number, down: number): void {
    const step = PAN_STEP / this.transform.k;
    select(this.canvas).call(this.behavior.translateBy, -right * step, -down * step);
  }

  scaleBy(factor: number): void {
    select(this.canvas).call(this.behavior.scaleBy, factor);
  }

  private pointOf(selection: Selection): [number, number] | null {
    if (selection.kind === "process") {
      const place = this.layout.places.get(selection.pid);
      return place ? [place.x, place.y] : null;
    }
    if (selection.kind === "call") {
      const call = this.model.call(selection.device, selection.id);
      const place = call && (this.layout.places.get(call.to_pid) ?? this.layout.places.get(call.from_pid));
      return place ? [place.x, place.y] : null;
    }
    return this.nodePoint(selection.device, selection.id);
  }

  private nodePoint(device: string, id: number): [number, number] | null {
    const node = this.model.node(device, id);
    const place = node && this.layout.places.get(node.pid ?? 0);
    if (!place) return null;
    const [dx, dy] = nodeOffset(this.model.nodesOf.get(place.pid)!.indexOf(node));
    return [place.x + dx, place.y + dy];
  }

  private click(event: MouseEvent): void {
    // Not on an entry of the list, which has chosen its process.
    if (event.target !== this.canvas) return;
    const [x, y] = this.transform.invert([event.offsetX, event.offsetY]);
    const hit = this.layout.at(this.model, x, y);
    if (!hit) return this.choose(null);
    const node = hit.node === null ? undefined : this.model.nodesOf.get(hit.pid)?.[hit.node];
    this.choose(node ? { kind: "node", device: node.device, id: node.id } : { kind: "process", pid: hit.pid });
  }

  /** Has an entry of the list for each process that is painted. */
  private list(): void {
    for (const [pid, entry] of this.entries) {
      if (!this.model.processes.has(pid)) {
        entry.remove();
        this.entries.delete(pid);
      }
    }
    for (const process of this.model.processes.values()) {
      const { pid, name, isDeadlocked, isExhausted } = process;
      let entry = this.entries.get(pid);
      if (!entry) {
        entry = button("", () => this.choose({ kind: "process", pid }));
        entry.addEventListener("focus", () => this.focus(pid));
        entry.addEventListener("blur", () => this.focus(null));
        entry.dataset["pid"] = String(pid);
        this.entries.set(pid, entry);
        this.canvas.append(entry);
      }
      const state = isDeadlocked ? ", in a deadlock" : isExhausted ? ", no thread left" : "";
      const text = `${name} ${pid}${state}`;
      if (entry.textContent !== text) entry.textContent = text;
      entry.dataset["state"] = isDeadlocked ? "deadlock" : isExhausted ? "exhausted" : "";
    }
  }

  /** Marks the process that has the keyboard: the list is invisible. */
  private focus(pid: number | null): void {
    this.focused = pid;
    const place = pid === null ? undefined : this.layout.places.get(pid);
    if (place && !this.isSeen(place)) this.moveTo([place.x, place.y]);
    this.painter.request();
  }

  private paint(): void {
    const { context, width, height } = this.painter;
    const { x, y, k } = this.transform;
    this.painted = this.transform;
    const [left, top] = this.transform.invert([-MARGIN, -MARGIN]);
    const [right, bottom] = this.transform.invert([width + MARGIN, height + MARGIN]);
    this.view = { left, top, right, bottom };
    context.translate(x, y);
    context.scale(k, k);
    this.paintAcquaintances(context);
    this.paintNodes(context);
    this.paintHandlesOfSelection(context);
    const { selection } = this;
    const selected = selection?.kind === "call" ? this.model.bundleOf(selection.device, selection.id) : undefined;
    for (const bundle of this.model.bundles.values()) this.paintCalls(context, bundle, bundle === selected);
    for (const process of this.model.processes.values()) {
      const place = this.layout.places.get(process.pid);
      if (place && this.isInView(place)) this.paintProcess(context, process, place);
    }
  }

  /** Whether the middle of a process is within the canvas. */
  private isSeen(place: Place): boolean {
    const [x, y] = this.transform.apply([place.x, place.y]);
    return x >= 0 && x <= this.painter.width && y >= 0 && y <= this.painter.height;
  }

  /** Whether a process, with its objects and name, may be within the painted part. */
  private isInView({ x, y, radius }: Place): boolean {
    const { left, top, right, bottom } = this.view;
    return x + radius > left && x - radius < right && y + radius + 30 > top && y - radius < bottom;
  }

  /** Whether a line within the hull of these points may be within the painted part. */
  private isLineInView(...points: { x: number; y: number }[]): boolean {
    const { left, top, right, bottom } = this.view;
    const isBeside = points.every(({ x }) => x < left) || points.every(({ x }) => x > right);
    return !isBeside && !points.every(({ y }) => y < top) && !points.every(({ y }) => y > bottom);
  }

  private paintAcquaintances(context: CanvasRenderingContext2D): void {
    context.strokeStyle = this.colors.edge;
    context.lineWidth = 1 / this.transform.k;
    context.beginPath();
    for (const { source, target } of this.layout.links) {
      if (!this.isLineInView(source, target)) continue;
      context.moveTo(source.x, source.y);
      context.lineTo(target.x, target.y);
    }
    context.stroke();
  }

  private paintNodes(context: CanvasRenderingContext2D): void {
    const size = Math.max(2.4, 1 / this.transform.k);
    for (const [pid, nodes] of this.model.nodesOf) {
      const place = this.layout.places.get(pid);
      if (!place || !this.isInView(place)) continue;
      context.fillStyle = pid === 0 ? this.colors.faint : this.colors.node;
      const { left, top, right, bottom } = this.view;
      const view = { left: left - place.x - size, top: top - place.y - size, right: right - place.x + size, bottom: bottom - place.y + size };
      const [first, end] = nodeRange(view, nodes.length);
      for (let index = first; index < end; index += 1) {
        const [dx, dy] = nodeOffset(index);
        if (dx < view.left || dx > view.right || dy < view.top || dy > view.bottom) continue;
        const isWaiting = nodes[index]!.waiting_oneways > 0;
        if (isWaiting) context.fillStyle = this.colors.waiting;
        context.fillRect(place.x + dx - size / 2, place.y + dy - size / 2, size, size);
        if (isWaiting) context.fillStyle = this.colors.node;
      }
    }
  }

  /** Lines from the selection to the processes that have handles of it, and to those whose handles it has. */
  private paintHandlesOfSelection(context: CanvasRenderingContext2D): void {
    const { selection } = this;
    if (!selection || selection.kind === "call") return;
    context.strokeStyle = this.colors.accent;
    context.lineWidth = 1.2 / this.transform.k;
    context.beginPath();
    const connect = (holder: number, point: [number, number] | null): void => {
      const place = this.layout.places.get(holder);
      if (!place || !point) return;
      context.moveTo(place.x, place.y);
      context.lineTo(...point);
    };
    if (selection.kind === "node") {
      const point = this.nodePoint(selection.device, selection.id);
      for (const holder of this.model.node(selection.device, selection.id)?.holders ?? []) connect(holder, point);
      if (point) {
        context.moveTo(point[0] + 5, point[1]);
        context.arc(point[0], point[1], 5, 0, 2 * Math.PI);
      }
    } else {
      const place = this.layout.places.get(selection.pid);
      if (place) {
        context.moveTo(place.x + PROCESS_RADIUS + 5, place.y);
        context.arc(place.x, place.y, PROCESS_RADIUS + 5, 0, 2 * Math.PI);
      }
      for (const { from, to } of this.model.acquaintances) {
        if (from !== selection.pid && to !== selection.pid) continue;
        const other = this.layout.places.get(to);
        connect(from, other ? [other.x, other.y] : null);
      }
    }
    context.stroke();
  }

  /** An arrow from the caller to the receiver; dashed for one-ways. */
  private paintCalls(context: CanvasRenderingContext2D, bundle: CallBundle, isSelected: boolean): void {
    const { isDeadlocked, isOneway, calls, elapsedMs } = bundle;
    const [from, to] = [this.layout.places.get(bundle.from), this.layout.places.get(bundle.to)];
    if (!from || !to) return;
    const angle = Math.atan2(to.y - from.y, to.x - from.x);
    // Bent, so that calls to and fro are two lines.
    const bend = Math.min(40, Math.hypot(to.x - from.x, to.y - from.y) / 5);
    const middle = [(from.x + to.x) / 2 - Math.sin(angle) * bend, (from.y + to.y) / 2 + Math.cos(angle) * bend] as const;
    if (!this.isLineInView(from, to, { x: middle[0], y: middle[1] })) return;
    context.strokeStyle = context.fillStyle = isSelected ? this.colors.accent : isDeadlocked ? this.colors.bad : this.colors.call;
    context.lineWidth = (isDeadlocked || isSelected ? 3 : 1.6) / Math.min(1, Math.max(this.transform.k, 0.4));
    context.setLineDash(isOneway ? [5, 4] : []);
    const arrival = Math.atan2(to.y - middle[1], to.x - middle[0]);
    const edge = PROCESS_RADIUS + 4;
    const end = [to.x - Math.cos(arrival) * edge, to.y - Math.sin(arrival) * edge] as const;
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.quadraticCurveTo(...middle, ...end);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(...end);
    for (const side of [-0.4, 0.4]) context.lineTo(end[0] - 10 * Math.cos(arrival + side), end[1] - 10 * Math.sin(arrival + side));
    context.fill();
    if (this.transform.k > 0.7 && (elapsedMs >= 100 || calls > 1)) {
      context.font = "10px system-ui, sans-serif";
      context.textAlign = "center";
      context.fillText(duration(elapsedMs * 1e6) + (calls > 1 ? ` (${calls})` : ""), ...middle);
    }
  }

  /** A circle, filled as its fullest receive buffer is, with its name below and the length of its queues beside it. */
  private paintProcess(context: CanvasRenderingContext2D, process: Process, { x, y }: Place): void {
    const { process: fill, busy, bad, waiting, text, ground } = this.colors;
    const isBad = process.isDeadlocked || process.isExhausted;
    context.beginPath();
    context.arc(x, y, PROCESS_RADIUS, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    context.lineWidth = isBad ? 4 : 1.5;
    context.strokeStyle = process.isDeadlocked ? bad : process.isExhausted ? waiting : ground;
    context.stroke();
    if (process.bufferUse > 0) {
      context.beginPath();
      const half = Math.PI * Math.min(1, Math.max(process.bufferUse, 0.03));
      context.arc(x, y, PROCESS_RADIUS - 2.5, Math.PI / 2 - half, Math.PI / 2 + half);
      context.fillStyle = process.bufferUse > 0.8 ? bad : busy;
      context.fill();
    }
    if (process.pid === this.focused) {
      context.beginPath();
      context.arc(x, y, PROCESS_RADIUS + 8, 0, 2 * Math.PI);
      context.lineWidth = 2 / Math.min(1, this.transform.k);
      context.strokeStyle = this.colors.accent;
      context.stroke();
    }
    if (this.transform.k < LABEL_SCALE && !isBad) return;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    if (process.queued > 0) {
      context.fillStyle = waiting;
      context.fillText(`+${process.queued}`, x + PROCESS_RADIUS + 9, y - PROCESS_RADIUS + 5);
    }
    const label = `${process.name} ${process.pid}`;
    context.lineWidth = 3;
    context.strokeStyle = ground;
    context.strokeText(label, x, y + PROCESS_RADIUS + 12);
    context.fillStyle = process.isDeadlocked ? bad : text;
    context.fillText(label, x, y + PROCESS_RADIUS + 12);
  }
}
