/** The map of the fleet: where each GPU is drawn, and how. */
import { placeOf, type Heat } from "./heat";
import type { NodeView } from "../../api/schema";
import { fitted, type Colors } from "../../ui/drawing";

export type Coloring = "use" | "queue" | "health" | "block" | Heat;

export interface Spot {
  node: NodeView;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Rack {
  name: string;
  x: number;
  y: number;
  spots: Spot[];
}

export interface MapLayout {
  racks: Rack[];
  width: number;
  height: number;
}

const GPU = 14;
const GAP = 2;
const NAME = 16;
const PAD = 12;
const PER_ROW = 8;

/** The widest named domain below the fleet that a node lies in, as `rack r1`. */
export function domainOf(node: NodeView): string {
  for (const level of ["rack", "block", "zone", "region", "cluster"]) {
    const name = node.domains[level];
    if (name) return `${level} ${name}`;
  }
  return "";
}

/** The name of a node where it is; `name` has its cluster before it. */
export function nameThere(node: NodeView): string {
  return node.cluster ? node.name.slice(node.cluster.length + 1) : node.name;
}

/** Lay out nodes in racks, left to right, in as many rows as the width asks for. */
export function layOut(nodes: readonly NodeView[], width: number): MapLayout {
  const groups = new Map<string, NodeView[]>();
  for (const node of nodes) {
    const key = domainOf(node);
    const members = groups.get(key);
    if (members) members.push(node);
    else groups.set(key, [node]);
  }
  const racks: Rack[] = [];
  let y = PAD;
  let bottom = PAD;
  for (const [name, members] of groups) {
    const top = bottom + (name ? NAME + 4 : 0);
    const spots: Spot[] = [];
    let x = PAD;
    y = top;
    let tallest = 0;
    for (const node of members) {
      const size = sizeOf(node);
      if (x + size.width > width - PAD && x > PAD) {
        x = PAD;
        y += tallest + PAD;
        tallest = 0;
      }
      spots.push({ node, x, y, ...size });
      x += size.width + PAD;
      tallest = Math.max(tallest, size.height);
    }
    racks.push({ name, x: PAD, y: bottom, spots });
    bottom = y + tallest + PAD;
  }
  return { racks, width, height: bottom + PAD };
}

function sizeOf(node: NodeView): { width: number; height: number } {
  const columns = Math.min(PER_ROW, Math.max(4, node.devices.length));
  const rows = Math.max(1, Math.ceil(node.devices.length / PER_ROW));
  return { width: columns * (GPU + GAP) + 12, height: NAME + rows * (GPU + GAP) + 10 };
}

/** A hue for each name: neighbours of a list are far apart. */
export function huesOf(names: Iterable<string>): Map<string, number> {
  const sorted = [...new Set(names)].filter(Boolean).sort();
  return new Map(sorted.map((name, n) => [name, Math.round(250 + n * 137.5) % 360]));
}

export const hueColor = (hue: number) => `hsl(${hue} 60% 50%)`;

/** How a map looks, apart from its nodes. */
export interface Look {
  colors: Colors;
  coloring: Coloring;
  chosen: string | undefined;
  /** Of the queue of a gang; empty = unknown. */
  queueColor(gang: string): string;
  /** Parts of GPUs that are at work, by their places. */
  heats: ReadonlyMap<string, number>;
}

/** Whether every node stands where it stood before, so that those that changed can be drawn over. */
export function standsAs(before: MapLayout, now: MapLayout): boolean {
  return (
    before.width === now.width &&
    before.height === now.height &&
    before.racks.length === now.racks.length &&
    now.racks.every((rack, n) => {
      const old = before.racks[n];
      return (
        old?.name === rack.name &&
        old.spots.length === rack.spots.length &&
        rack.spots.every((spot, at) => {
          const was = old.spots[at];
          return was?.node.name === spot.node.name && was.x === spot.x && was.y === spot.y && was.width === spot.width && was.height === spot.height;
        })
      );
    })
  );
}

/** Draw the nodes that differ from those of before; what both layouts have stands in the same places. */
export function redraw(context: CanvasRenderingContext2D, before: MapLayout, now: MapLayout, look: Look): number {
  let drawn = 0;
  now.racks.forEach((rack, n) =>
    rack.spots.forEach((spot, at) => {
      if (before.racks[n]?.spots[at]?.node === spot.node) return;
      drawNode(context, spot, look);
      drawn += 1;
    }),
  );
  return drawn;
}

export function draw(context: CanvasRenderingContext2D, layout: MapLayout, look: Look): void {
  const { colors } = look;
  context.clearRect(0, 0, layout.width, layout.height);
  context.textBaseline = "middle";
  for (const rack of layout.racks) {
    context.font = "600 12px system-ui, sans-serif";
    context.fillStyle = colors.quiet;
    if (rack.name) context.fillText(rack.name.slice(0, 60), rack.x, rack.y + NAME / 2);
    for (const spot of rack.spots) drawNode(context, spot, look);
  }
}

function drawNode(context: CanvasRenderingContext2D, { node, x, y, width, height }: Spot, look: Look): void {
  const { colors, coloring, queueColor, heats } = look;
  const chosen = node.name === look.chosen;
  const heated = coloring === "activity" || coloring === "power";
  const whole = node.devices.every((each) => each.free_milli >= 1000);
  const open = node.state === "ready";
  context.fillStyle = colors.surface;
  context.fillRect(x, y, width, height);
  context.strokeStyle = chosen ? colors.chosen : open ? colors.line : colors.closed;
  context.lineWidth = chosen ? 2 : 1;
  context.setLineDash(open || chosen ? [] : [4, 3]);
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  context.setLineDash([]);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = open ? colors.text : colors.closed;
  context.fillText(fitted(context, nameThere(node), width - 12), x + 6, y + 3 + NAME / 2);
  node.devices.forEach((device, n) => {
    const left = x + 6 + (n % PER_ROW) * (GPU + GAP);
    const top = y + NAME + 4 + Math.floor(n / PER_ROW) * (GPU + GAP);
    const used = device.free_milli < 1000;
    const partly = used && device.free_milli > 0;
    if (coloring === "health") context.fillStyle = device.healthy ? colors.free : colors.bad;
    else if (heated) context.fillStyle = colors.free;
    else if (coloring === "block") context.fillStyle = used ? colors.used : whole && open ? colors.free : colors.part;
    else if (!used) context.fillStyle = colors.free;
    else if (coloring === "queue") context.fillStyle = queueColor(device.gangs[0] ?? "") || colors.used;
    else context.fillStyle = colors.used;
    context.fillRect(left, top, GPU, GPU);
    if (heated) {
      // The part is a height, so that it is seen without colours; of what is not known there is a dash.
      const part = heats.get(placeOf(node.name, device.index));
      context.fillStyle = part === undefined ? colors.quiet : colors.used;
      if (part === undefined) context.fillRect(left + 3, top + GPU / 2 - 1, GPU - 6, 2);
      else context.fillRect(left, top + GPU * (1 - part), GPU, GPU * part);
    } else if (partly && coloring !== "health") {
      // What is free of a shared GPU is seen without its colour, too.
      context.fillStyle = colors.free;
      context.fillRect(left, top, GPU, (GPU * device.free_milli) / 1000);
    }
    if (!device.healthy) {
      context.strokeStyle = coloring === "health" ? colors.surface : colors.bad;
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(left + 3, top + 3);
      context.lineTo(left + GPU - 3, top + GPU - 3);
      context.moveTo(left + GPU - 3, top + 3);
      context.lineTo(left + 3, top + GPU - 3);
      context.stroke();
    }
  });
}

export function hit(layout: MapLayout, x: number, y: number): Spot | undefined {
  for (const rack of layout.racks)
    for (const spot of rack.spots)
      if (x >= spot.x && x <= spot.x + spot.width && y >= spot.y && y <= spot.y + spot.height) return spot;
  return undefined;
}
