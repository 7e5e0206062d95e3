/** The map of the fleet: where each GPU is drawn, and how. */
import type { NodeView } from "../../api/schema";
import { fitted, hue, type Colors } from "../../ui/drawing";

export type Coloring = "use" | "health" | "queue";

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

/** Lay out nodes in racks, left to right, in as many rows as the width asks for. */
export function layOut(nodes: readonly NodeView[], width: number): MapLayout {
  const groups = new Map<string, NodeView[]>();
  for (const node of nodes) {
    const key = domainOf(node);
    groups.set(key, [...(groups.get(key) ?? []), node]);
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

export function draw(
  context: CanvasRenderingContext2D,
  layout: MapLayout,
  colors: Colors,
  coloring: Coloring,
  chosen: string | undefined,
  queueOf: (gang: string) => string,
): void {
  context.clearRect(0, 0, layout.width, layout.height);
  context.textBaseline = "middle";
  for (const rack of layout.racks) {
    context.font = "600 12px system-ui, sans-serif";
    context.fillStyle = colors.quiet;
    if (rack.name) context.fillText(rack.name.slice(0, 60), rack.x, rack.y + NAME / 2);
    for (const spot of rack.spots) drawNode(context, spot, colors, coloring, spot.node.name === chosen, queueOf);
  }
}

function drawNode(
  context: CanvasRenderingContext2D,
  { node, x, y, width, height }: Spot,
  colors: Colors,
  coloring: Coloring,
  chosen: boolean,
  queueOf: (gang: string) => string,
): void {
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
  context.fillText(fitted(context, node.name, width - 12), x + 6, y + 3 + NAME / 2);
  node.devices.forEach((device, n) => {
    const left = x + 6 + (n % PER_ROW) * (GPU + GAP);
    const top = y + NAME + 4 + Math.floor(n / PER_ROW) * (GPU + GAP);
    const used = device.free_milli < 1000;
    const partly = used && device.free_milli > 0;
    if (coloring === "health") context.fillStyle = device.healthy ? colors.free : colors.bad;
    else if (!used) context.fillStyle = colors.free;
    else if (coloring === "queue") context.fillStyle = `hsl(${hue(queueOf(device.gangs[0] ?? ""))} 60% 50%)`;
    else context.fillStyle = colors.used;
    context.fillRect(left, top, GPU, GPU);
    if (partly && coloring !== "health") {
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
