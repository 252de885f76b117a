// Positions: processes repel each other, and attract those that they have handles of; objects lie around their owners.

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation, type SimulationNodeDatum } from "d3-force";
import type { Model } from "./model.ts";

/** The circle of a process. */
export const PROCESS_RADIUS = 15;
/** Between the circle of a process and its objects, and between these. */
const NODE_GAP = 8;
const NODE_SPACING = 4.2;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

export interface Place extends SimulationNodeDatum {
  pid: number;
  x: number;
  y: number;
  /** Of the circle around the process and its objects. */
  radius: number;
}

/** How far all objects of a process are from its middle, if it has so many. */
export function clusterRadius(nodes: number): number {
  return PROCESS_RADIUS + (nodes === 0 ? 6 : NODE_GAP + NODE_SPACING * Math.sqrt(nodes));
}

/** So many more objects would fit into the circle where there are none. */
const INNER_NODES = ((PROCESS_RADIUS + NODE_GAP) / NODE_SPACING) ** 2 - 0.5;

const offsets: [x: number, y: number][] = [];

/** Where the object at an index lies, seen from the middle of its owner: as the seeds of a sunflower, without gaps. */
export function nodeOffset(index: number): [x: number, y: number] {
  for (let next = offsets.length; next <= index; next += 1) {
    const distance = NODE_SPACING * Math.sqrt(next + 1 + INNER_NODES);
    offsets.push([distance * Math.cos(next * GOLDEN_ANGLE), distance * Math.sin(next * GOLDEN_ANGLE)]);
  }
  return offsets[index]!;
}

/** A part of the plane. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The first of the objects of a process that may lie in a box, and the first behind these that cannot; seen from its middle. */
export function nodeRange({ left, top, right, bottom }: Box, count: number): [first: number, end: number] {
  const nearest = Math.hypot(Math.max(left, 0, -right), Math.max(top, 0, -bottom));
  const farthest = Math.hypot(Math.max(-left, right), Math.max(-top, bottom));
  const within = (distance: number): number => (distance / NODE_SPACING) ** 2 - 1 - INNER_NODES;
  const at = (index: number): number => Math.min(count, Math.max(0, index));
  return [at(Math.floor(within(nearest))), at(Math.ceil(within(farthest)) + 1)];
}

export class Layout {
  places = new Map<number, Place>();
  /** Between processes that have handles of each other's objects. */
  links: { source: Place; target: Place }[] = [];
  private readonly simulation: Simulation<Place, { source: Place; target: Place }>;
  private shape = "";

  constructor(onMove: () => void) {
    this.simulation = forceSimulation<Place, { source: Place; target: Place }>([])
      .force("charge", forceManyBody<Place>().strength((it) => -6 * it.radius).distanceMax(900))
      .force("collide", forceCollide<Place>((it) => it.radius + 10).strength(0.8))
      .force("x", forceX<Place>().strength(0.04))
      .force("y", forceY<Place>().strength(0.05))
      .on("tick", onMove)
      .stop();
  }

  /** Has the places be those of the model's processes, and moves them if something has changed. */
  arrange(model: Model): void {
    const pids = [...model.processes.keys()];
    if (model.nodesOf.has(0)) pids.push(0);
    const places = new Map<number, Place>();
    for (const pid of pids) {
      const radius = clusterRadius(model.nodesOf.get(pid)?.length ?? 0);
      const place = this.places.get(pid) ?? { pid, radius, ...this.entry(pid, pids.length) };
      place.radius = radius;
      places.set(pid, place);
    }
    this.places = places;
    this.links = model.acquaintances.flatMap(({ from, to }) => {
      const [source, target] = [places.get(from), places.get(to)];
      return source && target ? [{ source, target }] : [];
    });
    // Objects that come and go one by one move nothing to speak of.
    const sizes = [...places.values()].map((it) => Math.round(it.radius / 8));
    const shape = `${pids.join()} ${sizes.join()} ${this.links.length}`;
    if (shape === this.shape) return;
    const isFirst = this.shape === "";
    this.shape = shape;
    this.simulation.nodes([...places.values()]);
    const distance = (link: { source: Place; target: Place }): number => link.source.radius + link.target.radius + 50;
    this.simulation.force("link", forceLink<Place, { source: Place; target: Place }>(this.links).distance(distance).strength(0.12));
    if (isFirst || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.simulation.alpha(1).tick(isFirst ? 160 : 60);
    }
    this.simulation.alpha(isFirst ? 0.05 : 0.3).restart();
  }

  /** Where a process comes in: on a spiral, so that no two are at one place. */
  private entry(pid: number, count: number): { x: number; y: number } {
    const turn = (this.places.size + count + pid) * GOLDEN_ANGLE;
    const distance = 60 * Math.sqrt(this.places.size + count);
    return { x: distance * Math.cos(turn), y: distance * Math.sin(turn) };
  }

  /** The object or process at a point. */
  at(model: Model, x: number, y: number): { pid: number; node: number | null } | null {
    for (const place of this.places.values()) {
      const [dx, dy] = [x - place.x, y - place.y];
      if (Math.hypot(dx, dy) > place.radius + 6) continue;
      if (place.pid !== 0 && Math.hypot(dx, dy) <= PROCESS_RADIUS + 3) return { pid: place.pid, node: null };
      const count = model.nodesOf.get(place.pid)?.length ?? 0;
      let [best, least] = [-1, 6];
      for (let index = 0; index < count; index += 1) {
        const [nx, ny] = nodeOffset(index);
        const distance = Math.hypot(dx - nx, dy - ny);
        if (distance < least) [best, least] = [index, distance];
      }
      if (best >= 0) return { pid: place.pid, node: best };
    }
    return null;
  }

  box(): { x: number; y: number; width: number; height: number } {
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { x, y, radius } of this.places.values()) {
      left = Math.min(left, x - radius);
      right = Math.max(right, x + radius);
      top = Math.min(top, y - radius);
      bottom = Math.max(bottom, y + radius + 14);
    }
    return left > right ? { x: -100, y: -100, width: 200, height: 200 } : { x: left, y: top, width: right - left, height: bottom - top };
  }
}
