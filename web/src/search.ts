// The search for processes, calls and nodes.

import { callName } from "./format.ts";
import type { Model, Selection } from "./model.ts";

export interface Hit {
  selection: Selection;
  title: string;
  /** Where it belongs, or what it is. */
  note: string;
}

/** More are not shown: another letter narrows the search. */
const HITS_MAX = 60;
const PROCESSES_MAX = 1000;

/** Finds the processes, calls and nodes that contain all words, in any of their names, numbers, devices and interfaces. */
export function search(model: Model, query: string): Hit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (...parts: (string | number)[]): boolean => {
    const text = parts.join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const hits: Hit[] = [];
  const processes = [...model.processes.values()].sort((a, b) => Number(b.isDeadlocked) - Number(a.isDeadlocked) || a.pid - b.pid);
  for (const { pid, name, devices, isDeadlocked, isExhausted } of processes) {
    const state = isDeadlocked ? "deadlock" : isExhausted ? "no thread left" : "";
    if (hits.length >= PROCESSES_MAX) break;
    const where = [...new Set(devices.map((it) => it.device))].join(", ");
    if (fits("process", name, pid, where, state)) {
      const note = state ? `${where}: ${state}` : where;
      hits.push({ selection: { kind: "process", pid }, title: `${name} ${pid}`, note });
    }
  }
  if (words.length === 0) return hits;
  for (const call of model.look?.calls ?? []) {
    if (hits.length >= HITS_MAX) return hits;
    const { id, device, from_pid, to_pid, stage, kind } = call;
    if (fits(kind, id, callName(call), device, stage, model.name(from_pid), model.name(to_pid))) {
      const note = `${kind} ${id}, ${stage}: ${model.name(from_pid)} ${from_pid} -> ${model.name(to_pid)} ${to_pid}`;
      hits.push({ selection: { kind: "call", device, id }, title: callName(call), note });
    }
  }
  for (const { id, device, pid } of model.nodes.values()) {
    if (hits.length >= HITS_MAX) return hits;
    // Not by its owner: else each process would be found with all its nodes.
    if (fits("node", `#${id}`, device)) {
      const note = pid === null ? "its owner is gone" : `of ${model.name(pid)} ${pid}`;
      hits.push({ selection: { kind: "node", device, id }, title: `node ${id} on ${device}`, note });
    }
  }
  return hits;
}
