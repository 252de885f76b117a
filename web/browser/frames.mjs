// Measures how smoothly the graph is panned: `node frames.mjs [PROCESSES] [NODES]`, 200 and 10000 unless told otherwise.
//
// Serves the bundle with made-up processes, drags the graph for some seconds, and prints how far apart frames were.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { launch } from "./chromium.mjs";

const SECONDS = 5;
const processes = Number(process.argv[2] ?? 200);
const nodes = Number(process.argv[3] ?? 10000);
const dist = new URL("../dist/", import.meta.url);

function objects() {
  const changed = [];
  for (let id = 1; id <= nodes; id += 1) {
    const pid = 1 + (id % processes);
    const holders = [1, 1 + ((id * 7) % processes)].filter((it) => it !== pid);
    changed.push({
      kind: "node", device: "binder", pid, id, has_strong: true, has_weak: true, local_strong: 0, local_weak: 0,
      strong_references: holders.length, holders, has_oneway_in_flight: false, waiting_oneways: id % 50 === 0 ? 2 : 0,
    });
    for (const [at, holder] of holders.entries()) {
      changed.push({
        kind: "reference", device: "binder", pid: holder, id: nodes * (at + 1) + id, handle: id, node: id, is_dead: false, strong: 1,
        weak: 1, has_death_link: false,
      });
    }
  }
  return { is_whole: true, changed, gone: [] };
}

function look() {
  const list = Array.from({ length: processes }, (_, index) => ({
    name: `service-${index}`, pid: index + 1, device: "binder", door: "fuse", threads: 4, ready_threads: 2, max_threads: 15,
    nodes: nodes / processes, handles: 100, queued: index % 9, waiting_oneways: 0, buffers: 3, buffer_bytes: index * 5000,
    area_bytes: 1040384, pages_in_use: 1, pages_idle: 1, longest_call_us: 100, incoming_calls: 1, outgoing_calls: 1, sent_per_s: 10,
    received_per_s: 10, oldest_call_ms: 1,
  }));
  const calls = list.map(({ pid }) => ({
    id: pid, device: "binder", kind: "call", stage: "served", from_pid: pid, from_tid: pid, to_pid: 1 + ((pid * 3) % processes),
    to_tid: 1, node: 1, code: 1, flags: 0, elapsed_ms: 150, data_bytes: 4, interface: "demo.IService",
  }));
  const trace = { failure: null, ended: [], omitted: 0, dropped: 0, latencies: [] };
  return { at_ms: Date.now(), interval_ms: 1000, dir: "made up", processes: list, threads: [], calls, findings: [], trace };
}

const KINDS = { html: "text/html", js: "text/javascript", css: "text/css" };
const server = createServer(async (request, response) => {
  const name = request.url.slice(1) || "index.html";
  if (name === "events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (event, content) => response.write(`event: ${event}\ndata: ${JSON.stringify(content)}\n\n`);
    send("objects", objects());
    send("look", look());
    const timer = setInterval(() => send("look", look()), 1000);
    response.on("close", () => clearInterval(timer));
    return;
  }
  const content = await readFile(new URL(name, dist)).catch(() => null);
  response.writeHead(content ? 200 : 404, { "content-type": KINDS[name.split(".").pop()] ?? "text/plain" });
  response.end(content);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.locator("#graph button").nth(processes - 1).waitFor({ state: "attached" });
  // Until the layout has come to rest: what is panned while it moves is painted anew with each frame.
  const painting = () => page.evaluate(() => document.getElementById("graph").toDataURL());
  for (let [last, next] = [null, await painting()]; next !== last; [last, next] = [next, await painting()]) {
    await page.waitForTimeout(1000);
  }
  const canvas = await page.locator("#graph").boundingBox();
  const [x, y] = [canvas.x + canvas.width / 2, canvas.y + canvas.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.evaluate(() => {
    window.frames_ = [];
    const note = (time) => {
      window.frames_.push(time);
      requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busySeconds = async () =>
    (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  const busyBefore = await busySeconds();
  const end = Date.now() + SECONDS * 1000;
  for (let step = 0; Date.now() < end; step += 1) {
    // Across most of the graph: farther than its margin, so that it is painted anew, too.
    const turn = step / 30;
    await page.mouse.move(x + 0.45 * canvas.width * Math.sin(turn), y + 0.45 * canvas.height * Math.sin(1.3 * turn));
  }
  const busy = (await busySeconds()) - busyBefore;
  const times = await page.evaluate(() => window.frames_);
  const gaps = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b);
  const seconds = (times.at(-1) - times[0]) / 1000;
  const at = (part) => gaps[Math.floor((gaps.length - 1) * part)].toFixed(1);
  console.log(
    `${processes} processes, ${nodes} nodes: ${(gaps.length / seconds).toFixed(1)} frames a second; apart by ${at(0.5)} ms ` +
      `(median), ${at(0.99)} ms (99 %), ${at(1)} ms (most); ${((1000 * busy) / gaps.length).toFixed(1)} ms of the page's thread each`,
  );
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
