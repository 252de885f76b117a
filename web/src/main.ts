// The page: takes the events of the server, and has each part show them.

import { byId } from "./dom.ts";
import { Details } from "./details.ts";
import { Finder } from "./finder.ts";
import { callName, duration, parsePlain } from "./format.ts";
import { Graph } from "./graph.ts";
import { HeatMap } from "./heat.ts";
import { Model, type Selection } from "./model.ts";
import { News } from "./news.ts";
import type { FailureEvent, Look, ObjectsEvent, TracedCall } from "./records.ts";
import { toggleTheme } from "./theme.ts";
import { Timeline } from "./timeline.ts";

const model = new Model();
const status = byId("status");
const help = byId<HTMLDialogElement>("help");
let selected: Selection | TracedCall | null = null;

const details = new Details(byId("details"), model, (selection) => choose(selection, true));
const graph = new Graph(byId<HTMLCanvasElement>("graph"), model, (selection) => choose(selection, false));
const finder = new Finder(byId<HTMLInputElement>("search"), byId("hits"), model, (selection) => choose(selection, true));
const heat = new HeatMap(byId("heat"));
const timeline = new Timeline(byId<HTMLCanvasElement>("timeline"), byId("timeline-status"), (call) => {
  selected = call;
  details.show(call);
  news.tell(`${callName(call)}, ${call.status}, from ${call.from_name ?? "-"} to ${call.to_name ?? "-"}, ${duration(call.total_ns ?? 0)}`);
});
const news = new News(byId("news"));
let events: EventSource | null = null;

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

/** Stops looking, or begins anew: what is shown stays as it was, and for one page alone the driver is not looked into either. */
function pause(): void {
  const isPaused = events !== null;
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  if (!events) return follow();
  events.close();
  events = null;
  status.textContent = "paused";
  status.className = "";
  news.tell("paused");
}

function update(): void {
  const { look } = model;
  if (!look) return;
  graph.update();
  finder.update();
  if (!selected || !("unix_ns" in selected)) details.show(selected);
  const stuck = look.findings.length;
  const words = [`${model.processes.size} processes`, `${model.nodes.size} objects`, `${look.calls.length} calls under way`];
  status.textContent = words.join(", ") + (stuck > 0 ? `, ${stuck} stuck` : "");
  status.className = stuck > 0 ? "bad" : "";
  byId("place").textContent = look.dir;
  news.tellFindings(model);
}

function parse<T>(event: Event): T {
  return parsePlain((event as MessageEvent<string>).data);
}

function complain(words: string): void {
  status.textContent = words;
  status.className = "bad";
  news.tell(words);
}

/** Takes the events of the server, from now on. */
function follow(): void {
  const source = new EventSource("events");
  events = source;
  source.addEventListener("objects", (event) => model.takeObjects(parse<ObjectsEvent>(event)));
  source.addEventListener("look", (event) => {
    const look = parse<Look>(event);
    model.takeLook(look);
    heat.take(look);
    timeline.take(look);
    update();
  });
  source.addEventListener("failure", (event) => {
    const { tried, answer, advice } = parse<FailureEvent>(event);
    complain(`${tried}: ${answer}${advice ? ` - try: ${advice}` : ""}`);
  });
  source.addEventListener("error", () => {
    const isRefused = source.readyState === EventSource.CLOSED;
    complain(isRefused ? "the server refuses: too many pages watch, or it was started anew" : "the server does not answer; is anybinder web still running?");
  });
}

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
  // These scroll by arrows.
  const isScroller = event.target instanceof Element && event.target.closest("#details, .latencies");
  if (isScroller && event.key.startsWith("Arrow")) return;
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
follow();
