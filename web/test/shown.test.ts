import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, callName, duration, looperWords, parsePlain, plain } from "../src/format.ts";
import { percentile, sum } from "../src/heat.ts";
import { clusterRadius, nodeOffset, nodeRange, PROCESS_RADIUS } from "../src/layout.ts";
import { bar, lanes } from "../src/timeline.ts";
import type { TracedCall } from "../src/records.ts";

test("what acts on the text around it is told by its number", () => {
  assert.equal(plain("a\u202eb\nc\u200bd\u2028"), "a\\u{202e}b\\u{a}c\\u{200b}d\\u{2028}");
  assert.equal(plain("<img src=x> \u00fc"), "<img src=x> \u00fc");
});

test("letters from right to left move no number beside them, and nothing is higher than a line or longer than some", () => {
  assert.equal(plain("\u05d0 7"), "\u2068\u05d0 7\u2069");
  assert.equal(plain("\u2069\u05d0"), "\u2068\\u{2069}\u05d0\u2069");
  assert.equal(plain(`z${"\u0301".repeat(50)}`), "z\u0301\u0301");
  assert.equal(plain("x".repeat(100_000)).length, 259);
});

test("all text that the server sends may be shown", () => {
  const told = parsePlain<unknown>('{"calls":[{"interface":"a\\u202eb","code":3}],"failure":null}');
  assert.deepEqual(told, { calls: [{ interface: "a\\u{202e}b", code: 3 }], failure: null });
});

test("figures have units", () => {
  assert.deepEqual([0, 1023, 2048, 5 << 20].map(bytes), ["0 B", "1023 B", "2.0 KiB", "5.0 MiB"]);
  assert.deepEqual([1500, 25e6, 3e9].map(duration), ["1.5 us", "25 ms", "3.0 s"]);
  assert.deepEqual([0, 0x12].map(looperWords), ["-", "entered, waits"]);
  assert.equal(callName({ interface: null, code: 3 }), "code 3");
});

test("percentiles are the ends of their classes", () => {
  assert.deepEqual([0, 50, 99, 100].map((it) => percentile([50, 49, 1], it)), [1000, 1000, 2000, 4000]);
  assert.equal(percentile([], 50), 0);
  assert.deepEqual(sum([{ interface: "a", errors: 0, counts: [1, 2] }, { interface: "a", errors: 0, counts: [0, 3] }]), [1, 5]);
});

test("objects lie around their owner, apart from each other", () => {
  const points = Array.from({ length: 300 }, (_, index) => nodeOffset(index));
  for (const [index, [x, y]] of points.entries()) {
    assert.ok(Math.hypot(x, y) > PROCESS_RADIUS && Math.hypot(x, y) < clusterRadius(300));
    for (const [ox, oy] of points.slice(index + 1)) assert.ok(Math.hypot(x - ox, y - oy) > 3);
  }
});

test("of many objects those are looked at that may be in view", () => {
  const inView = { left: 150, top: 100, right: 180, bottom: 130 };
  const [first, end] = nodeRange(inView, 10_000);
  const isIn = (index: number): boolean => {
    const [x, y] = nodeOffset(index);
    return x >= inView.left && x <= inView.right && y >= inView.top && y <= inView.bottom;
  };
  const all = Array.from({ length: 10_000 }, (_, index) => index).filter(isIn);
  assert.ok(all.length > 10 && all.every((index) => index >= first && index < end));
  assert.ok(end - first < 1200, `${end - first}`);
  assert.deepEqual(nodeRange({ left: -9, top: -9, right: 9, bottom: 9 }, 10_000), [0, 0]);
  assert.deepEqual(nodeRange({ left: -900, top: -900, right: 900, bottom: 900 }, 10_000), [0, 10_000]);
});

test("a lane has the calls of a receiver that are in view", () => {
  const at = (unix_ns: number, to_pid: number): TracedCall => ({ unix_ns, to_pid, total_ns: 10 }) as TracedCall;
  const bars = [at(100, 1), at(200, 1), at(205, 2), at(900, 1)].map((call) => bar(call, 50));
  const found = lanes(bars, 140, 160);
  assert.deepEqual([...found].map(([pid, { length }]) => [pid, length]), [[1, 1], [2, 1]]);
});
