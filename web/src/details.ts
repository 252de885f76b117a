// The details of the selected process, object or call.

import { button, element } from "./dom.ts";
import { bytes, callName, duration, looperWords, rate } from "./format.ts";
import type { Model, Selection } from "./model.ts";
import type { CallRecord, ProcessRecord, TracedCall } from "./records.ts";

/** Rows of a table that are shown; how many more there are is told. */
const ROWS_MAX = 100;
/** A process may open a device many times. */
const DEVICES_MAX = 10;

type Cell = string | number | Node;

export class Details {
  constructor(
    private readonly place: HTMLElement,
    private readonly model: Model,
    private readonly choose: (selection: Selection) => void,
  ) {}

  /** Shows the selection, or, without one, the findings. */
  show(selection: Selection | TracedCall | null): void {
    const content = element("div", "", ...this.content(selection));
    // Parts that have not changed stay: the user may be about to click on one.
    if (this.place.firstChild?.isEqualNode(content)) return;
    const focused = document.activeElement;
    const path = focused instanceof HTMLElement && this.place.contains(focused) ? focused.dataset["link"] : undefined;
    this.place.replaceChildren(content);
    if (path) [...this.place.querySelectorAll<HTMLElement>("[data-link]")].find((it) => it.dataset["link"] === path)?.focus({ preventScroll: true });
  }

  private content(selection: Selection | TracedCall | null): Node[] {
    if (!selection) return this.findings();
    if ("unix_ns" in selection) return this.tracedCall(selection);
    if (selection.kind === "process") return this.process(selection.pid);
    if (selection.kind === "node") return this.node(selection.device, selection.id);
    return this.call(selection.device, selection.id);
  }

  private findings(): Node[] {
    const parts: Node[] = [element("h2", "", "What will not end by itself")];
    const found = this.model.look?.findings ?? [];
    if (found.length === 0) parts.push(element("p", "quiet", "Nothing is found to be stuck."));
    for (const finding of found.slice(0, ROWS_MAX)) {
      if (finding.kind === "deadlock") {
        parts.push(element("h3", "bad", `Deadlock on ${finding.device}`), this.calls(finding.calls));
      } else if (finding.kind === "exhausted") {
        const { device, loopers, queued, served } = finding;
        parts.push(element("h3", "warn", "No thread left in ", this.processLink(finding.pid), ` on ${device}`));
        parts.push(element("p", "", `${loopers} take calls, none is idle, ${queued.length} wait.`), this.calls(served));
      } else {
        const { device, was, is } = finding;
        parts.push(element("h3", "warn", "One-ways pile up for ", this.processLink(finding.pid), ` on ${device}`));
        parts.push(element("p", "", `${is} wait, ${was} did before.`));
      }
    }
    return parts;
  }

  private process(pid: number): Node[] {
    const process = this.model.processes.get(pid);
    if (!process) return [element("h2", "", `Process ${pid}`), element("p", "quiet", "It is gone.")];
    const parts: Node[] = [element("h2", process.isDeadlocked ? "bad" : "", `${process.name} ${pid}`)];
    if (process.isDeadlocked) parts.push(element("p", "bad", "It is in a deadlock."));
    if (process.isExhausted) parts.push(element("p", "warn", "None of its threads can take what waits."));
    for (const record of process.devices.slice(0, DEVICES_MAX)) parts.push(...this.openDevice(record));
    const others = process.devices.length - DEVICES_MAX;
    if (others > 0) parts.push(element("p", "quiet", `It has ${others} more devices open.`));
    const calls = this.model.look?.calls.filter((call) => call.from_pid === pid || call.to_pid === pid) ?? [];
    parts.push(...this.section("Calls under way", calls.length, () => this.calls(calls)));
    const threads = this.model.threadsOf(pid);
    const threadRows = () => threads.slice(0, ROWS_MAX).map(({ device, tid, looper, stack, queued }) => [tid, device, looperWords(looper), stack.join(" "), queued]);
    parts.push(...this.section("Threads", threads.length, () => table(["thread", "device", "state", "calls", "queued"], threadRows())));
    const nodes = this.model.nodesOf.get(pid) ?? [];
    const nodeRows = () => nodes.slice(0, ROWS_MAX).map((it) => [this.nodeLink(it.device, it.id), it.device, it.strong_references, it.holders.length, it.waiting_oneways]);
    parts.push(...this.section("Objects", nodes.length, () => table(["node", "device", "strong", "known to", "in line"], nodeRows())));
    const handles = this.model.handlesOf(pid);
    const handleRows = () => handles.slice(0, ROWS_MAX).map((it) => [it.handle, this.nodeLink(it.device, it.node), this.owner(it.device, it.node), it.is_dead ? "dead" : ""]);
    parts.push(...this.section("Handles", handles.length, () => table(["handle", "node", "of", ""], handleRows())));
    return parts;
  }

  private openDevice(record: ProcessRecord): Node[] {
    const gauges = element("div", "gauges");
    gauges.append(
      gauge("buffers", record.buffer_bytes, record.area_bytes, `${bytes(record.buffer_bytes)} of ${bytes(record.area_bytes)}`),
      gauge("threads at work", record.threads - record.ready_threads, record.threads, `${record.threads - record.ready_threads} of ${record.threads}`),
      gauge("queue", record.queued + record.waiting_oneways, 64, `${record.queued} queued, ${record.waiting_oneways} in line`),
    );
    const rows: Cell[][] = [
      ["sent, received", `${rate(record.sent_per_s)}, ${rate(record.received_per_s)} a second`],
      ["calls to it, of its own", `${record.incoming_calls}, ${record.outgoing_calls}`],
      ["longest call", duration(record.longest_call_us * 1000)],
      ["oldest that waits", duration(record.oldest_call_ms * 1e6)],
      ["objects, handles", `${record.nodes}, ${record.handles}`],
      ["pages in use, idle", `${record.pages_in_use}, ${record.pages_idle}`],
      ["threads asked for at most", record.max_threads],
      ["calls by", record.door],
    ];
    return [element("h3", "", record.device), gauges, table([], rows)];
  }

  private node(device: string, id: number): Node[] {
    const node = this.model.node(device, id);
    const parts: Node[] = [element("h2", "", `Node ${id} on ${device}`)];
    if (!node) return [...parts, element("p", "quiet", "It is gone.")];
    parts.push(
      table([], [
        ["owner", node.pid === null ? "gone" : this.processLink(node.pid)],
        ["strong references", node.strong_references],
        ["strong, weak within the owner", `${node.local_strong}, ${node.local_weak}`],
        ["one-ways in line", node.waiting_oneways],
      ]),
    );
    const rows = () => node.holders.slice(0, ROWS_MAX).map((pid) => [this.processLink(pid), this.handleOf(pid, device, id)]);
    parts.push(...this.section("Known to", node.holders.length, () => table(["process", "handle"], rows())));
    return parts;
  }

  private call(device: string, id: number): Node[] {
    const call = this.model.call(device, id);
    const parts: Node[] = [element("h2", "", `Transaction ${id} on ${device}`)];
    if (!call) return [...parts, element("p", "quiet", "It is over.")];
    if (this.model.isDeadlocked(call)) parts.push(element("p", "bad", "It is in a deadlock."));
    parts.push(
      table([], [
        ["what", `${call.kind}, ${call.stage.replace("_", " ")}`],
        ["of", callName(call)],
        ["from", this.party(call.from_pid, call.from_tid)],
        ["to", this.party(call.to_pid, call.to_tid)],
        ["node", call.node === null ? "-" : this.nodeLink(device, call.node)],
        ["for", duration(call.elapsed_ms * 1e6)],
        ["flags", `0x${call.flags.toString(16)}`],
        ["data", call.data_bytes === null ? "-" : bytes(call.data_bytes)],
      ]),
    );
    return parts;
  }

  private tracedCall(call: TracedCall): Node[] {
    const time = (ns: number | null): string => (ns === null ? "-" : duration(ns));
    return [
      element("h2", call.is_error ? "bad" : "", callName(call)),
      table([], [
        ["what", `${call.kind} ${call.id} on ${call.device}: ${call.status}`],
        ["at", new Date(call.unix_ns / 1e6).toISOString().slice(11, 23)],
        ["from", this.party(call.from_pid, call.from_tid)],
        ["to", this.party(call.to_pid ?? 0, call.to_tid ?? 0)],
        ["took", time(call.total_ns)],
        ["queued, served, returning", [call.queue_ns, call.service_ns, call.return_ns].map(time).join(", ")],
        ["data, of the reply", `${bytes(call.data_bytes)}, ${call.reply_bytes === null ? "-" : bytes(call.reply_bytes)}`],
        ["node", call.node === null ? "-" : this.nodeLink(call.device, call.node)],
      ]),
    ];
  }

  private section(title: string, count: number, content: () => Node): Node[] {
    if (count === 0) return [];
    const shown = count > ROWS_MAX ? `, ${ROWS_MAX} shown` : "";
    return [element("h3", "", `${title} (${count}${shown})`), content()];
  }

  private calls(calls: CallRecord[]): HTMLElement {
    const rows = calls.slice(0, ROWS_MAX).map((call) => [
      this.link({ kind: "call", device: call.device, id: call.id }, callName(call)),
      this.processLink(call.from_pid),
      this.processLink(call.to_pid),
      call.stage.replace("_", " "),
      duration(call.elapsed_ms * 1e6),
    ]);
    return table(["call", "from", "to", "", "for"], rows);
  }

  private handleOf(pid: number, device: string, node: number): string {
    const handle = this.model.handlesOf(pid).find((it) => it.node === node && it.device === device);
    return handle ? String(handle.handle) : "-";
  }

  private owner(device: string, id: number): Cell {
    const pid = this.model.node(device, id)?.pid;
    return pid == null ? "gone" : this.processLink(pid);
  }

  private party(pid: number, tid: number): Node {
    if (pid === 0) return element("span", "", "nobody");
    return element("span", "", this.processLink(pid), tid === 0 ? "" : `, thread ${tid}`);
  }

  private processLink(pid: number): HTMLElement {
    return this.link({ kind: "process", pid }, `${this.model.name(pid)} ${pid}`);
  }

  private nodeLink(device: string, id: number): HTMLElement {
    return this.link({ kind: "node", device, id }, String(id));
  }

  private link(selection: Selection, text: string): HTMLElement {
    const made = button("link", () => this.choose(selection), text);
    made.dataset["link"] = JSON.stringify(selection);
    return made;
  }
}

function table(heads: string[], rows: Cell[][]): HTMLTableElement {
  const made = element("table", "");
  if (heads.length > 0) made.append(element("thead", "", element("tr", "", ...heads.map((head) => element("th", "", head)))));
  const body = element("tbody", "");
  for (const row of rows) {
    const cells = row.map((cell, index) => element(heads.length === 0 && index === 0 ? "th" : "td", "", cell));
    body.append(element("tr", "", ...cells));
  }
  made.append(body);
  return made;
}

function gauge(title: string, used: number, limit: number, words: string): HTMLElement {
  const meter = element("meter", "");
  meter.max = Math.max(limit, 1);
  meter.high = meter.max * 0.8;
  meter.optimum = 0;
  meter.value = used;
  const made = element("label", "gauge", element("span", "", title), meter, element("span", "figures", words));
  return made;
}
