// The state of the driver: the newest look and all objects, and the relations between them.

import type { CallRecord, Finding, Look, NodeRecord, ObjectsEvent, ProcessRecord, ReferenceRecord, ThreadRecord } from "./records.ts";

/** A process with all devices that it has open. */
export interface Process {
  pid: number;
  name: string;
  devices: ProcessRecord[];
  /** How full its receive areas are, and how long its queues, of all devices. */
  bufferUse: number;
  queued: number;
  isDeadlocked: boolean;
  isExhausted: boolean;
}

/** The handles that one process has of objects of another. */
export interface Acquaintance {
  from: number;
  to: number;
  handles: number;
}

/** Calls under way from one process to another, which are drawn as one. */
export interface CallBundle {
  from: number;
  to: number;
  isOneway: boolean;
  isDeadlocked: boolean;
  calls: number;
  /** Of the oldest. */
  elapsedMs: number;
}

/** A process, object or call that is selected. */
export type Selection =
  | { kind: "process"; pid: number }
  | { kind: "node"; device: string; id: number }
  | { kind: "call"; device: string; id: number };

const bundleKey = (call: CallRecord): string => `${call.from_pid} ${call.to_pid} ${call.kind}`;
const nodeKey = (device: string, id: number): string => `${id} ${device}`;

export class Model {
  look: Look | null = null;
  processes = new Map<number, Process>();
  nodes = new Map<string, NodeRecord>();
  references = new Map<string, ReferenceRecord>();
  /** The objects of each process, by debug id; those of processes that are gone are under 0. */
  nodesOf = new Map<number, NodeRecord[]>();
  /** The handles of each process. */
  handlesByPid = new Map<number, ReferenceRecord[]>();
  acquaintances: Acquaintance[] = [];
  bundles = new Map<string, CallBundle>();
  /** Calls that wait for each other. */
  deadlocked = new Set<string>();

  takeObjects(event: ObjectsEvent): void {
    if (event.is_whole) {
      this.nodes.clear();
      this.references.clear();
    }
    for (const record of event.changed) {
      const key = nodeKey(record.device, record.id);
      if (record.kind === "node") this.nodes.set(key, record);
      else this.references.set(key, record);
    }
    for (const [device, isNode, id] of event.gone) {
      (isNode ? this.nodes : this.references).delete(nodeKey(device, id));
    }
    this.connect();
  }

  takeLook(look: Look): void {
    this.look = look;
    const processes = new Map<number, Process>();
    for (const record of look.processes) {
      const known = processes.get(record.pid);
      if (known) known.devices.push(record);
      else {
        const { pid, name } = record;
        processes.set(pid, { pid, name, devices: [record], bufferUse: 0, queued: 0, isDeadlocked: false, isExhausted: false });
      }
    }
    for (const process of processes.values()) {
      process.bufferUse = Math.max(...process.devices.map((it) => (it.area_bytes > 0 ? it.buffer_bytes / it.area_bytes : 0)));
      process.queued = process.devices.reduce((sum, it) => sum + it.queued + it.waiting_oneways, 0);
    }
    this.deadlocked.clear();
    for (const finding of look.findings) this.mark(finding, processes);
    this.processes = processes;
    this.bundle(look.calls);
  }

  private bundle(calls: CallRecord[]): void {
    this.bundles = new Map();
    for (const call of calls) {
      if (call.kind === "reply") continue;
      const key = bundleKey(call);
      let known = this.bundles.get(key);
      if (!known) {
        const isOneway = call.kind === "oneway";
        known = { from: call.from_pid, to: call.to_pid, isOneway, isDeadlocked: false, calls: 0, elapsedMs: 0 };
        this.bundles.set(key, known);
      }
      known.calls += 1;
      known.elapsedMs = Math.max(known.elapsedMs, call.elapsed_ms);
      known.isDeadlocked ||= this.isDeadlocked(call);
    }
  }

  private mark(finding: Finding, processes: Map<number, Process>): void {
    if (finding.kind === "deadlock") {
      for (const call of finding.calls) {
        this.deadlocked.add(nodeKey(call.device, call.id));
        for (const pid of [call.from_pid, call.to_pid]) {
          const process = processes.get(pid);
          if (process) process.isDeadlocked = true;
        }
      }
    } else if (finding.kind === "exhausted") {
      const process = processes.get(finding.pid);
      if (process) process.isExhausted = true;
    }
  }

  /** Computes the objects of each owner, and the handles between processes. */
  private connect(): void {
    this.nodesOf = new Map();
    const counts = new Map<string, Acquaintance>();
    for (const node of this.nodes.values()) {
      const owner = node.pid ?? 0;
      const others = this.nodesOf.get(owner);
      if (others) others.push(node);
      else this.nodesOf.set(owner, [node]);
      for (const holder of node.holders) {
        if (holder === owner) continue;
        const key = `${holder} ${owner}`;
        const known = counts.get(key);
        if (known) known.handles += 1;
        else counts.set(key, { from: holder, to: owner, handles: 1 });
      }
    }
    for (const nodes of this.nodesOf.values()) nodes.sort((a, b) => a.id - b.id);
    this.handlesByPid = new Map();
    for (const handle of this.references.values()) {
      const others = this.handlesByPid.get(handle.pid);
      if (others) others.push(handle);
      else this.handlesByPid.set(handle.pid, [handle]);
    }
    this.acquaintances = [...counts.values()];
  }

  node(device: string, id: number): NodeRecord | undefined {
    return this.nodes.get(nodeKey(device, id));
  }

  /** The bundle that a call is drawn in. */
  bundleOf(device: string, id: number): CallBundle | undefined {
    const call = this.call(device, id);
    return call && this.bundles.get(bundleKey(call));
  }

  isDeadlocked(call: CallRecord): boolean {
    return this.deadlocked.has(nodeKey(call.device, call.id));
  }

  call(device: string, id: number): CallRecord | undefined {
    return this.look?.calls.find((call) => call.id === id && call.device === device);
  }

  threadsOf(pid: number): ThreadRecord[] {
    return this.look?.threads.filter((thread) => thread.pid === pid) ?? [];
  }

  handlesOf(pid: number): ReferenceRecord[] {
    return this.handlesByPid.get(pid) ?? [];
  }

  name(pid: number): string {
    return this.processes.get(pid)?.name ?? "-";
  }
}
