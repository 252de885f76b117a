// The page: takes what the server sends, and has each part show it.

import { byId } from "./dom.ts";
import { Details } from "./details.ts";
import { Finder } from "./finder.ts";
import { plain } from "./format.ts";
import { Graph } from "./graph.ts";
import { HeatMap } from "./heat.ts";
import { Model, type Selection } from "./model.ts";
import type { FailureEvent, Look, ObjectsEvent, TracedCall } from "./records.ts";
import { toggleTheme } from "./theme.ts";
import { Timeline } from "./timeline.ts";

const model = new Model();
const status = byId("status");
const help = byId<HTMLDialogElement>("help");
let selected: Selection | TracedCall | null = null;
let isPaused = false;

const details = new Details(byId("details"), model, (selection) => choose(selection, true));
const graph = new Graph(byId<HTMLCanvasElement>("graph"), model, (selection) => choose(selection, false));
const finder = new Finder(byId<HTMLInputElement>("search"), byId("hits"), model, (selection) => choose(selection, true));
const heat = new HeatMap(byId("heat"));
const timeline = new Timeline(byId<HTMLCanvasElement>("timeline"), byId("timeline-status"), (call) => {
  selected = call;
  details.show(call);
});

function choose(selection: Selection | null, isToBeSeen: boolean): void {
  selected = selection;
  details.show(selection);
  graph.show(selection, isToBeSeen);
}

/** Shows the next process that is in a deadlock. */
function nextDeadlock(): void {
  const stuck = [...model.processes.values()].filter((it) => it.isDeadlocked).map((it) => it.pid);
  const at = selected && "pid" in selected ? stuck.indexOf(selected.pid) : -1;
  const next = stuck[(at + 1) % stuck.length];
  if (next !== undefined) choose({ kind: "process", pid: next }, true);
}

function pause(): void {
  isPaused = !isPaused;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  if (!isPaused) update();
  else status.textContent = "paused";
}

function update(): void {
  const { look } = model;
  if (isPaused || !look) return;
  graph.update();
  finder.update();
  if (!selected || !("unix_ns" in selected)) details.show(selected);
  const stuck = look.findings.length;
  const words = [`${model.processes.size} processes`, `${model.nodes.size} objects`, `${look.calls.length} calls under way`];
  status.textContent = words.join(", ") + (stuck > 0 ? `, ${stuck} stuck` : "");
  status.className = stuck > 0 ? "bad" : "";
  byId("place").textContent = plain(look.dir);
}

function parse<T>(event: Event): T {
  return JSON.parse((event as MessageEvent<string>).data) as T;
}

const events = new EventSource("events");
events.addEventListener("objects", (event) => model.takeObjects(parse<ObjectsEvent>(event)));
events.addEventListener("look", (event) => {
  const look = parse<Look>(event);
  model.takeLook(look);
  if (isPaused) return;
  heat.take(look);
  timeline.take(look);
  update();
});
events.addEventListener("failure", (event) => {
  const { tried, answer, advice } = parse<FailureEvent>(event);
  status.textContent = plain(`${tried}: ${answer}${advice ? ` - try: ${advice}` : ""}`);
  status.className = "bad";
});
events.addEventListener("error", () => {
  status.textContent = "the server does not answer; is anybinder web still running?";
  status.className = "bad";
});

const KEYS: Record<string, () => void> = {
  "/": () => finder.focus(),
  "+": () => graph.scaleBy(1.3),
  "=": () => graph.scaleBy(1.3),
  "-": () => graph.scaleBy(1 / 1.3),
  "0": () => graph.fit(),
  ArrowLeft: () => graph.pan(-1, 0),
  ArrowRight: () => graph.pan(1, 0),
  ArrowUp: () => graph.pan(0, -1),
  ArrowDown: () => graph.pan(0, 1),
  d: nextDeadlock,
  p: pause,
  t: toggleTheme,
  "?": () => help.showModal(),
  Escape: () => {
    if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur();
    else choose(null, false);
  },
};

document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.ctrlKey || event.altKey || event.metaKey || help.open || (isTyping && event.key !== "Escape")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

byId("fit").addEventListener("click", () => graph.fit());
byId("pause").addEventListener("click", pause);
byId("theme").addEventListener("click", toggleTheme);
byId("show-help").addEventListener("click", () => help.showModal());
byId("close-help").addEventListener("click", () => help.close());
details.show(null);
