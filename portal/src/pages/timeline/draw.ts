/** Draws the rows of a timeline. */
import { knownAs } from "../../ui/cluster_name";
import { fitted, hue, type Colors } from "../../ui/drawing";
import { ticks, type Bar, type Row, type Window } from "./bars";

const HEAD = 26;
const PAD = 4;
const LEAST = 22;

export interface Shape {
  width: number;
  height: number;
  gutter: number;
  /** Upper edge of each row. */
  tops: readonly number[];
  lane: number;
}

export function shapeOf(rows: readonly Row[], width: number): Shape {
  const lane = rows.some((each) => each.lanes > 1) ? 5 : 20;
  const tops: number[] = [];
  let y = HEAD;
  for (const row of rows) {
    tops.push(y);
    y += heightOf(row, lane);
  }
  return { width, height: y + 1, gutter: width < 500 ? 72 : 120, tops, lane };
}

function heightOf(row: Row, lane: number): number {
  return Math.max(LEAST, row.lanes * lane + 2 * PAD);
}

export interface Look {
  window: Window;
  now: number;
  /** How far the zone is ahead of UTC, in ms. */
  shift: number;
  chosen: string | undefined;
}

function place(shape: Shape, window: Window, at: number): number {
  const inner = shape.width - shape.gutter;
  const x = shape.gutter + (inner * (at - window.begin)) / (window.end - window.begin);
  return Math.max(shape.gutter, Math.min(shape.width, x));
}

export function draw(
  context: CanvasRenderingContext2D,
  rows: readonly Row[],
  shape: Shape,
  look: Look,
  colors: Colors,
): void {
  context.clearRect(0, 0, shape.width, shape.height);
  context.textBaseline = "middle";
  axis(context, shape, look, colors);
  rows.forEach((row, n) => {
    const top = shape.tops[n] ?? 0;
    const height = heightOf(row, shape.lane);
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, top + 0.5);
    context.lineTo(shape.width, top + 0.5);
    context.stroke();
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colors.text;
    context.fillText(fitted(context, row.name, shape.gutter - 12), 6, top + height / 2);
    for (const each of row.closed) shut(context, shape, look, colors, each, top, height);
    for (const bar of row.bars) drawBar(context, shape, look, colors, bar, top);
  });
  const now = place(shape, look.window, look.now);
  if (now > shape.gutter && now < shape.width) {
    context.strokeStyle = colors.bad;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(now, HEAD - 6);
    context.lineTo(now, shape.height);
    context.stroke();
  }
}

/** The day on which the axis begins, and its zone: `11-28 UTC+5:30`. */
export function dayAndZone(begin: number, shift: number): string {
  const minutes = Math.abs(Math.round(shift / 60_000));
  const hours = `${Math.floor(minutes / 60)}${minutes % 60 ? `:${String(minutes % 60).padStart(2, "0")}` : ""}`;
  const ahead = minutes ? `${shift < 0 ? "−" : "+"}${hours}` : "";
  return `${new Date(begin + shift).toISOString().slice(5, 10)} UTC${ahead}`;
}

function axis(context: CanvasRenderingContext2D, shape: Shape, look: Look, colors: Colors): void {
  const { at, step } = ticks(look.window, Math.max(2, (shape.width - shape.gutter) / 80), look.shift);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colors.quiet;
  context.fillText(fitted(context, dayAndZone(look.window.begin, look.shift), shape.gutter - 8), 6, HEAD / 2);
  for (const each of at) {
    const x = Math.round(place(shape, look.window, each)) + 0.5;
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, HEAD - 4);
    context.lineTo(x, shape.height);
    context.stroke();
    const shown = new Date(each + look.shift).toISOString();
    const midnight = (each + look.shift) % 86_400_000 === 0;
    const text = step >= 86_400_000 || midnight ? shown.slice(5, 10) : shown.slice(11, 16);
    if (x + 32 > shape.width) continue;
    context.fillStyle = colors.quiet;
    context.fillText(text, x + 3, HEAD / 2);
  }
}

/** Hatched: a booking or a drain. */
function shut(
  context: CanvasRenderingContext2D,
  shape: Shape,
  look: Look,
  colors: Colors,
  each: { kind: "booking" | "drain"; what: string; begin: number; end: number },
  top: number,
  height: number,
): void {
  const [left, right] = [place(shape, look.window, each.begin), place(shape, look.window, each.end)];
  if (right <= left) return;
  context.save();
  context.beginPath();
  context.rect(left, top + 1, right - left, height - 1);
  context.clip();
  context.strokeStyle = each.kind === "drain" ? colors.bad : colors.part;
  context.lineWidth = 1;
  context.beginPath();
  const lean = each.kind === "drain" ? -height : height;
  for (let x = left - height; x < right + height; x += 7) {
    context.moveTo(x, top + height);
    context.lineTo(x + lean, top);
  }
  context.stroke();
  context.restore();
}

function drawBar(
  context: CanvasRenderingContext2D,
  shape: Shape,
  look: Look,
  colors: Colors,
  bar: Bar,
  top: number,
): void {
  const { span } = bar;
  const left = place(shape, look.window, bar.begin);
  const right = Math.max(left + 1, place(shape, look.window, bar.end));
  const done = span.open ? Math.min(right, place(shape, look.window, look.now)) : right;
  const color = `hsl(${hue(span.queue)} 55% 50%)`;
  for (const [first, last] of blocks(bar.lanes)) {
    const y = top + PAD + first * shape.lane;
    const height = (last - first + 1) * shape.lane - 1;
    if (span.kind === "run") {
      context.fillStyle = color;
      context.fillRect(left, y, Math.max(1, done - left), height);
      if (done < right) {
        // What is left of its time limit.
        context.globalAlpha = 0.3;
        context.fillRect(done, y, right - done, height);
        context.globalAlpha = 1;
      }
      if (span.ahead_of) {
        const edge = Math.min(3, Math.ceil(height / 3));
        context.fillStyle = colors.text;
        context.fillRect(left, y + height - edge, right - left, edge);
      }
    } else {
      context.fillStyle = colors.surface;
      context.fillRect(left, y, right - left, height);
      context.strokeStyle = color;
      context.lineWidth = 2;
      context.setLineDash(span.kind === "promise" ? [2, 3] : [7, 3]);
      context.strokeRect(left + 1, y + 1, Math.max(1, right - left - 2), Math.max(1, height - 2));
      context.setLineDash([]);
    }
    if (look.chosen === span.gang) {
      context.strokeStyle = colors.chosen;
      context.lineWidth = 2;
      context.strokeRect(left, y, Math.max(2, right - left), height);
    }
    if (height >= 13 && right - left > 34) {
      context.font = "11px system-ui, sans-serif";
      const solid = span.kind === "run" && done - left > 34;
      const from = solid || span.kind !== "run" ? left : done;
      const room = (solid ? done : right) - from - 8;
      if (room < 20) continue;
      const name = fitted(context, knownAs(span.workload), room);
      context.fillStyle = solid ? plate(context, left + 3, y + height / 2 - 7, context.measureText(name).width + 4, colors) : colors.text;
      context.fillText(name, from + 5, y + height / 2 + 0.5);
    }
  }
}

/** A ground on which a name can be read whatever the colour of its queue is; returns its ink. */
function plate(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  colors: Colors,
): string {
  context.fillStyle = colors.surface;
  context.fillRect(x, y, width, 14);
  return colors.text;
}

/** Lanes that lie beside each other, as [first, last]. */
export function blocks(lanes: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const lane of [...lanes].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && last[1] === lane - 1) last[1] = lane;
    else found.push([lane, lane]);
  }
  return found;
}

/** What lies at a point: a row, and a bar of it. */
export function hit(
  rows: readonly Row[],
  shape: Shape,
  window: Window,
  x: number,
  y: number,
): { row: Row; bar: Bar | undefined } | undefined {
  const n = shape.tops.findLastIndex((each) => each <= y);
  const row = rows[n];
  if (!row) return undefined;
  const lane = Math.floor((y - (shape.tops[n] ?? 0) - PAD) / shape.lane);
  const bar =
    x < shape.gutter
      ? undefined
      : row.bars.findLast(
          (each) =>
            each.lanes.includes(lane) && x >= place(shape, window, each.begin) && x <= place(shape, window, each.end) + 1,
        );
  return { row, bar };
}
