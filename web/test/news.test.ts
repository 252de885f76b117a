import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../src/model.ts";
import { News } from "../src/news.ts";
import type { Finding, Look } from "../src/records.ts";

function look(findings: Finding[]): Look {
  const trace = { failure: null, ended: [], omitted: 0, dropped: 0, latencies: [] };
  return { at_ms: 1, interval_ms: 1, dir: "/", processes: [], threads: [], calls: [], findings, trace };
}

test("what is stuck is told once, and when it is over", () => {
  const told: string[] = [];
  const place = {
    get textContent() {
      return told.at(-1) ?? "";
    },
    set textContent(words: string) {
      told.push(words);
    },
  };
  const [news, model] = [new News(place as unknown as HTMLElement), new Model()];
  const stuck: Finding = { kind: "exhausted", device: "binder", pid: 7, name: "a", loopers: 1, queued: [], served: [] };
  for (const findings of [[], [stuck], [stuck], Array<Finding>(9).fill(stuck), []]) {
    model.takeLook(look(findings));
    news.tellFindings(model);
  }
  const words = "No thread left in - 7 on binder";
  assert.deepEqual(told, [words, `${Array(5).fill(words).join("; ")}; 4 more`, "Nothing is stuck any more"]);
});
