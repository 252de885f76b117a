import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../src/model.ts";
import type { CallRecord, Look, NodeRecord, ProcessRecord } from "../src/records.ts";
import { search } from "../src/search.ts";

function process(pid: number, name: string): ProcessRecord {
  return {
    name, pid, device: "binder", door: "fuse", threads: 1, ready_threads: 0, max_threads: 0, nodes: 1, handles: 0, queued: 2,
    waiting_oneways: 1, buffers: 0, buffer_bytes: 50, area_bytes: 100, pages_in_use: 0, pages_idle: 0, longest_call_us: 0,
    incoming_calls: 0, outgoing_calls: 0, sent_per_s: 0, received_per_s: 0, oldest_call_ms: 0,
  };
}

function call(id: number, from: number, to: number): CallRecord {
  return {
    id, device: "binder", kind: "call", stage: "queued", from_pid: from, from_tid: from, to_pid: to, to_tid: 0, node: null, code: 1,
    flags: 0, elapsed_ms: 5, data_bytes: 0, interface: "demo.IGreeter",
  };
}

function look(processes: ProcessRecord[], calls: CallRecord[] = [], deadlock: CallRecord[] = []): Look {
  const trace = { failure: null, ended: [], omitted: 0, dropped: 0, latencies: [] };
  const findings = deadlock.length > 0 ? [{ kind: "deadlock" as const, device: "binder", calls: deadlock }] : [];
  return { at_ms: 1, interval_ms: 1, dir: "/dev/binderfs", processes, threads: [], calls, findings, trace };
}

function node(id: number, pid: number | null, holders: number[]): NodeRecord {
  return {
    kind: "node", device: "binder", pid, id, has_strong: true, has_weak: true, local_strong: 0, local_weak: 0, strong_references: 1,
    holders, has_oneway_in_flight: false, waiting_oneways: 0,
  };
}

test("a deadlock marks its calls and processes, and no others", () => {
  const model = new Model();
  const calls = [call(1, 10, 20), call(2, 20, 10), call(3, 30, 10)];
  model.takeLook(look([process(10, "a"), process(20, "b"), process(30, "c")], calls, calls.slice(0, 2)));
  assert.deepEqual([...model.processes.values()].map((it) => it.isDeadlocked), [true, true, false]);
  assert.deepEqual(calls.map((it) => model.isDeadlocked(it)), [true, true, false]);
  model.takeLook(look([process(10, "a")]));
  assert.equal(model.processes.get(10)!.isDeadlocked, false);
  assert.equal(model.processes.size, 1);
});

test("calls from one process to another are one arrow", () => {
  const model = new Model();
  const many = Array.from({ length: 5000 }, (_, index) => ({ ...call(index + 3, 10, 20), elapsed_ms: index }));
  model.takeLook(look([process(10, "a"), process(20, "b")], [...many, call(1, 20, 10), { ...call(2, 10, 20), kind: "oneway" }]));
  const bundle = model.bundleOf("binder", 4)!;
  assert.deepEqual([model.bundles.size, bundle.calls, bundle.elapsedMs, bundle.isOneway], [3, 5000, 4999, false]);
  assert.equal(model.bundleOf("binder", 99_999), undefined);
});

test("a device that is opened often is named once", () => {
  const model = new Model();
  model.takeLook(look(Array.from({ length: 5000 }, () => process(10, "a"))));
  assert.deepEqual(search(model, "").map((hit) => hit.note), ["binder"]);
});

test("a process with several devices is one", () => {
  const model = new Model();
  model.takeLook(look([process(10, "a"), { ...process(10, "a"), device: "hwbinder", buffer_bytes: 90 }]));
  assert.deepEqual([model.processes.size, model.processes.get(10)!.queued, model.processes.get(10)!.bufferUse], [1, 6, 0.9]);
});

test("who has handles of whose objects is an acquaintance, counted", () => {
  const model = new Model();
  model.takeObjects({ is_whole: true, changed: [node(1, 10, [20, 10]), node(2, 10, [20]), node(3, null, [20])], gone: [] });
  assert.deepEqual(model.acquaintances, [{ from: 20, to: 10, handles: 2 }, { from: 20, to: 0, handles: 1 }]);
  model.takeObjects({ is_whole: false, changed: [node(4, 10, [])], gone: [["binder", true, 1]] });
  assert.deepEqual(model.nodesOf.get(10)!.map((it) => it.id), [2, 4]);
  model.takeObjects({ is_whole: true, changed: [], gone: [] });
  assert.equal(model.nodes.size, 0);
});

test("all words that are looked for must be found, in processes, calls and nodes", () => {
  const model = new Model();
  model.takeLook(look([process(10, "greeter"), process(20, "<b>client</b>")], [call(7, 20, 10)]));
  model.takeObjects({ is_whole: true, changed: [node(5, 10, [])], gone: [] });
  const titles = (query: string): string[] => search(model, query).map((hit) => hit.title);
  assert.deepEqual(titles(""), ["greeter 10", "<b>client</b> 20"]);
  assert.deepEqual(titles("CLIENT 20"), ["<b>client</b> 20"]);
  assert.deepEqual(titles("igreeter"), ["demo.IGreeter code 1"]);
  assert.deepEqual(titles("#5"), ["node 5 on binder"]);
  assert.deepEqual(titles("greeter nothing"), []);
});
