import { dayAndZone } from "./draw";
import { expect, it } from "vitest";
import type { BookingView, DrainView, TimelineSpan } from "../../api/schema";
import { lanesOf, rowsOf, ticks } from "./bars";

const span = (more: Partial<TimelineSpan>): TimelineSpan => ({
  kind: "run",
  node: "n0",
  gang: "a-1/0",
  workload: "a-1",
  user: "ada",
  queue: "red",
  attempt: 1,
  begin: 0,
  end: 100,
  open: false,
  milli: 1000,
  devices: [],
  guess: false,
  ahead_of: "",
  ...more,
});
const window = { begin: 0, end: 1000 };

it("puts what lies at the same time side by side, and what is over makes room", () => {
  const bars = lanesOf(
    [span({ milli: 2000 }), span({ begin: 50, end: 150 }), span({ begin: 100, end: 200, milli: 2000 })],
    3,
    window,
  );
  expect(bars.map((each) => each.lanes)).toEqual([[0, 1], [2], [0, 1]]);
});

it("draws GPUs where they are known, and never more lanes than there are", () => {
  expect(lanesOf([span({ devices: [2, 3], milli: 2000 })], 4, window)[0]?.lanes).toEqual([2, 3]);
  expect(lanesOf([span({ milli: 64_000 })], 2, window)[0]?.lanes).toEqual([0, 1]);
  expect(lanesOf([span({ milli: 0 }), span({ milli: 0 })], 0, window).map((each) => each.lanes)).toEqual([[0], [0]]);
});

it("ends what has no known end with the window, and leaves out what lies outside of it", () => {
  const found = lanesOf([span({ end: null }), span({ begin: 2000, end: 3000 })], 2, window);
  expect(found.map((each) => each.end)).toEqual([1000]);
});

it("has a row for each node, those that have left too, or for each GPU of one", () => {
  const nodes = [{ name: "n0", devices: [{}, {}] as never }];
  const booking = { name: "fans", nodes: ["n0"], begin: 1, end: 2 } as BookingView;
  const drained = { name: "drain-n0", nodes: ["n0"], begin: 1, end: 2 } as BookingView;
  const drain = { what: "n0", nodes: ["n0"], by: 5 } as DrainView;
  const spans = [span({ devices: [1] }), span({ node: "gone", milli: 3000 })];
  const all = rowsOf(nodes, spans, [booking, drained], [drain], window, undefined);
  expect(all.map((each) => [each.name, each.lanes, each.bars.length])).toEqual([
    ["n0", 2, 1],
    ["gone", 3, 1],
  ]);
  expect(all[0]?.closed.map((each) => [each.kind, each.what])).toEqual([
    ["booking", "fans"],
    ["drain", "n0"],
  ]);
  const one = rowsOf(nodes, spans, [], [], window, "n0");
  expect(one.map((each) => [each.name, each.bars.length])).toEqual([
    ["GPU 0", 0],
    ["GPU 1", 1],
  ]);
});

it("has round ticks in the zone that is shown", () => {
  const hour = 3_600_000;
  expect(ticks({ begin: 0, end: 12 * hour }, 6, 0)).toEqual({ at: [0, 3, 6, 9].map((n) => n * hour), step: 3 * hour });
  expect(ticks({ begin: 0, end: 12 * hour }, 6, hour).at[0]).toBe(2 * hour);
});

it("says on which day the axis begins, and in which zone", () => {
  const late = Date.UTC(2026, 10, 28, 23);
  const minutes = [0, 60, 330, -180];
  expect(minutes.map((each) => dayAndZone(late, each * 60_000))).toEqual([
    ...["11-28 UTC", "11-29 UTC+1", "11-29 UTC+5:30", "11-28 UTC−3"],
  ]);
});
