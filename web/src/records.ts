// The events of the server: records as `anybinder ps|top|state|waits|transactions|trace --json` print them.

/** An open device of a process, as of `top --json`. */
export interface ProcessRecord {
  name: string;
  pid: number;
  device: string;
  door: "fuse" | "ring";
  threads: number;
  ready_threads: number;
  max_threads: number;
  nodes: number;
  handles: number;
  queued: number;
  waiting_oneways: number;
  buffers: number;
  buffer_bytes: number;
  area_bytes: number;
  pages_in_use: number;
  pages_idle: number;
  longest_call_us: number;
  incoming_calls: number;
  outgoing_calls: number;
  sent_per_s: number;
  received_per_s: number;
  oldest_call_ms: number;
}

export interface ThreadRecord {
  kind: "thread";
  device: string;
  pid: number;
  tid: number;
  looper: number;
  stack: number[];
  queued: number;
}

/** An object on offer; without a `pid` once its owner is gone. */
export interface NodeRecord {
  kind: "node";
  device: string;
  pid: number | null;
  id: number;
  has_strong: boolean;
  has_weak: boolean;
  local_strong: number;
  local_weak: number;
  strong_references: number;
  holders: number[];
  has_oneway_in_flight: boolean;
  waiting_oneways: number;
}

export interface ReferenceRecord {
  kind: "reference";
  device: string;
  pid: number;
  id: number;
  handle: number;
  node: number;
  is_dead: boolean;
  strong: number;
  weak: number;
  has_death_link: boolean;
}

/** A call under way, as of `transactions --json`. */
export interface CallRecord {
  id: number;
  device: string;
  kind: "call" | "oneway" | "reply";
  stage: "in_line" | "queued" | "served" | "abandoned";
  from_pid: number;
  from_tid: number;
  to_pid: number;
  to_tid: number;
  node: number | null;
  code: number;
  flags: number;
  elapsed_ms: number;
  data_bytes: number | null;
  interface: string | null;
}

/** A finding of `waits --json`. */
export type Finding =
  | { kind: "deadlock"; device: string; calls: CallRecord[] }
  | { kind: "exhausted"; device: string; pid: number; name: string; loopers: number; queued: CallRecord[]; served: CallRecord[] }
  | { kind: "growing"; device: string; pid: number; name: string; was: number; is: number };

/** A call that has ended, as of `trace --json`. */
export interface TracedCall {
  kind: string;
  unix_ns: number;
  device: string;
  id: number;
  from_pid: number;
  from_tid: number;
  from_name: string | null;
  to_pid: number | null;
  to_tid: number | null;
  to_name: string | null;
  node: number | null;
  handle: number;
  interface: string | null;
  method: string | null;
  code: number;
  data_bytes: number;
  reply_bytes: number | null;
  queue_ns: number | null;
  service_ns: number | null;
  return_ns: number | null;
  total_ns: number | null;
  status: string;
  is_error: boolean;
}

/** The calls of an interface, counted in classes of latency that double, from a microsecond on. */
export interface LatencyRow {
  interface: string;
  errors: number;
  counts: number[];
}

export interface TraceView {
  failure: string | null;
  ended: TracedCall[];
  omitted: number;
  dropped: number;
  latencies: LatencyRow[];
}

/** The event `look`. */
export interface Look {
  at_ms: number;
  interval_ms: number;
  dir: string;
  processes: ProcessRecord[];
  threads: ThreadRecord[];
  calls: CallRecord[];
  findings: Finding[];
  trace: TraceView;
}

/** The event `objects`; an object or handle that is gone is named by its device, whether it is a node, and its debug id. */
export interface ObjectsEvent {
  is_whole: boolean;
  changed: (NodeRecord | ReferenceRecord)[];
  gone: [device: string, isNode: boolean, id: number][];
}

/** The event `failure`. */
export interface FailureEvent {
  tried: string;
  answer: string;
  advice: string;
}
