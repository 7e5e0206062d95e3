/** Where each bar of a timeline lies: rows of nodes or GPUs, and lanes within them. */
import type { BookingView, DrainView, NodeView, TimelineSpan } from "../../api/schema";

/** A part of the time: [begin, end) in ms. */
export interface Window {
  begin: number;
  end: number;
}

export interface Bar {
  span: TimelineSpan;
  /** Lanes of its row that it takes. */
  lanes: readonly number[];
  begin: number;
  end: number;
}

export interface Closed {
  what: string;
  kind: "booking" | "drain";
  begin: number;
  end: number;
}

export interface Row {
  name: string;
  lanes: number;
  bars: readonly Bar[];
  closed: readonly Closed[];
}

/** Lanes of bars that lie on one node: its GPUs where they are known, else some that are free. */
export function lanesOf(spans: readonly TimelineSpan[], gpus: number, window: Window): Bar[] {
  const lanes = Math.max(1, gpus);
  const taken: number[] = new Array<number>(lanes).fill(-Infinity);
  const bars: Bar[] = [];
  for (const span of [...spans].sort((a, b) => a.begin - b.begin)) {
    const begin = span.begin;
    const end = Math.max(span.end ?? window.end, begin + 1);
    const wanted = Math.min(lanes, Math.max(1, Math.ceil(span.milli / 1000)));
    const known = span.devices.filter((each) => each < lanes);
    const free = [...taken.keys()].filter((lane) => (taken[lane] as number) <= begin);
    const rest = [...taken.keys()].filter((lane) => !free.includes(lane));
    const chosen = known.length ? known : [...free, ...rest].slice(0, wanted).sort((a, b) => a - b);
    for (const lane of chosen) taken[lane] = Math.max(taken[lane] as number, end);
    bars.push({ span, lanes: chosen, begin, end });
  }
  return bars.filter((each) => each.begin < window.end && each.end > window.begin);
}

export function closedOf(
  node: string,
  bookings: readonly BookingView[],
  drains: readonly DrainView[],
): Closed[] {
  const booked = bookings
    .filter((each) => each.nodes.includes(node) && !each.name.startsWith("drain-"))
    .map((each): Closed => ({ what: each.name, kind: "booking", begin: each.begin, end: each.end }));
  const drained = drains
    .filter((each) => each.nodes.includes(node))
    .map((each): Closed => ({ what: each.what, kind: "drain", begin: each.by, end: Infinity }));
  return [...booked, ...drained];
}

/** A row for each node; or for each GPU of one, where it is chosen. */
export function rowsOf(
  nodes: readonly Pick<NodeView, "name" | "devices">[],
  spans: readonly TimelineSpan[],
  bookings: readonly BookingView[],
  drains: readonly DrainView[],
  window: Window,
  chosen: string | undefined,
): Row[] {
  const of = new Map<string, TimelineSpan[]>();
  for (const each of spans) {
    const found = of.get(each.node);
    if (found) found.push(each);
    else of.set(each.node, [each]);
  }
  const known = nodes.map((each) => ({ name: each.name, gpus: each.devices.length }));
  // Nodes that have left are known by what they held.
  const names = new Set(known.map((each) => each.name));
  const others = [...of].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  for (const [name, held] of others)
    if (!names.has(name)) known.push({ name, gpus: Math.max(...held.map((each) => Math.ceil(each.milli / 1000))) });
  if (chosen === undefined)
    return known.map(({ name, gpus }) => ({
      name,
      lanes: Math.max(1, gpus),
      bars: lanesOf(of.get(name) ?? [], gpus, window),
      closed: closedOf(name, bookings, drains),
    }));
  const node = known.find((each) => each.name === chosen);
  const bars = lanesOf(of.get(chosen) ?? [], node?.gpus ?? 0, window);
  return Array.from({ length: Math.max(1, node?.gpus ?? 0) }, (_, lane) => ({
    name: node?.gpus ? `GPU ${lane}` : chosen,
    lanes: 1,
    bars: bars.filter((each) => each.lanes.includes(lane)).map((each) => ({ ...each, lanes: [0] })),
    closed: closedOf(chosen, bookings, drains),
  }));
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY];

/** Round moments of a window, at most so many; `shift` = how far the zone is ahead of UTC, in ms. */
export function ticks(window: Window, most: number, shift: number): { at: number[]; step: number } {
  const length = window.end - window.begin;
  const step = STEPS.find((each) => length / each <= most) ?? Math.ceil(length / most / DAY) * DAY;
  const first = Math.ceil((window.begin + shift) / step) * step - shift;
  const at: number[] = [];
  for (let next = first; next < window.end; next += step) at.push(next);
  return { at, step };
}

/** Lengths that one can see, from the closest on. */
export const ZOOMS = [HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY] as const;
export const USUAL_ZOOM = 3;

/** How far back the past has to be read for a window, in ms. */
export function sinceOf(window: Window): number {
  return Math.floor(window.begin / HOUR) * HOUR;
}
