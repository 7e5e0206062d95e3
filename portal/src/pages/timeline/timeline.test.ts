import { expect, it } from "vitest";
import type { TimelineSpan } from "../../api/schema";
import type { Colors } from "../../ui/drawing";
import { rowsOf } from "./bars";
import { draw, shapeOf } from "./draw";
import { entries } from "./timeline";

const window = { begin: 0, end: 1000 };
const span = (more: Partial<TimelineSpan>): TimelineSpan => ({
  ...{ kind: "run", node: "n0", gang: "a-1/0", workload: "a-1", user: "ada", queue: "red", attempt: 1 },
  ...{ begin: 0, end: 100, open: false, milli: 1000, devices: [0], guess: false, ahead_of: "" },
  ...more,
});

it("lists backfill apart from ordinary runs", () => {
  const found = entries(
    [
      span({}),
      span({ gang: "b-2/0", ahead_of: "w-1/0" }),
      span({ gang: "c-3/0", ahead_of: "w-1/0", open: true }),
      span({ gang: "w-1/0", kind: "reservation" }),
    ],
    [],
    [],
    window,
    undefined,
  );
  expect(found.map((each) => each.what)).toEqual(["ran", "backfill", "backfill", "reserved"]);
});

it("draws an edge below backfill, and below nothing else", () => {
  const edges = (ahead_of: string) => {
    const filled: [unknown, number][] = [];
    const context = new Proxy({ fillStyle: "" } as Record<string, unknown>, {
      get: (its, key) => {
        if (key === "fillRect") return (...[, , , height]: number[]) => filled.push([its["fillStyle"], height ?? 0]);
        if (key === "measureText") return () => ({ width: 10 });
        return its[String(key)] ?? (() => undefined);
      },
      set: (its, key, value) => ((its[String(key)] = value), true),
    }) as unknown as CanvasRenderingContext2D;
    const nodes = [{ name: "n0", devices: Array.from({ length: 8 }, () => ({})) }] as never;
    const rows = rowsOf(nodes, [span({ ahead_of })], [], [], window, undefined);
    const colors = { text: "ink", surface: "paper" } as unknown as Colors;
    draw(context, rows, shapeOf(rows, 600), { window, now: 50, shift: 0, chosen: undefined }, colors);
    return filled.filter(([style]) => style === "ink").map(([, height]) => height);
  };
  expect(edges("w-1/0")).toEqual([2]);
  expect(edges("")).toEqual([]);
});
