import { expect, it } from "vitest";
import type { NodeView } from "../../api/schema";
import { domainOf, hit, huesOf, layOut, redraw, standsAs, type Look } from "./draw";

const node = (name: string, rack: string): NodeView => ({
  name,
  flavor: "H100",
  state: "ready",
  reason: "",
  deadline: 0,
  domains: rack ? { rack } : {},
  labels: {},
  gpu_total_milli: 8000,
  gpu_free_milli: 0,
  cpu_total_milli: 0,
  cpu_free_milli: 0,
  memory_total_mib: 0,
  memory_free_mib: 0,
  cluster: "",
  silent_since: 0,
  pods: 0,
  devices: Array.from({ length: 8 }, (_, index) => ({
    index,
    type: "H100",
    memory_mib: 0,
    numa: 0,
    island: 0,
    uuid: "",
    healthy: true,
    free_milli: 0,
    gangs: [],
  })),
});

it("draws every node once, within the width, by racks", () => {
  const nodes = Array.from({ length: 40 }, (_, n) => node(`n${n}`, `r${n % 3}`));
  const layout = layOut(nodes, 500);
  const spots = layout.racks.flatMap((each) => each.spots);
  expect(layout.racks.map((each) => each.name)).toEqual(["rack r0", "rack r1", "rack r2"]);
  expect(spots).toHaveLength(40);
  expect(Math.max(...spots.map((each) => each.x + each.width))).toBeLessThanOrEqual(500);
  for (const each of spots) expect(hit(layout, each.x + 1, each.y + 1)?.node.name).toBe(each.node.name);
  expect(hit(layout, 1, 1)).toBeUndefined();
});

it("names the narrowest domain that is a place", () => {
  expect(domainOf(node("a", "r1"))).toBe("rack r1");
  expect(domainOf(node("a", ""))).toBe("");
});

it("draws over only what changed, as long as every node stands where it stood", () => {
  const nodes = Array.from({ length: 40 }, (_, n) => node(`n${n}`, `r${n % 3}`));
  const before = layOut(nodes, 500);
  const changed = nodes.map((each) => (each.name === "n7" ? { ...each, state: "cordoned" } : each));
  const now = layOut(changed, 500);
  expect(standsAs(before, now)).toBe(true);
  const nothing = () => undefined;
  const context = new Proxy({}, { get: (_, key) => (key === "measureText" ? () => ({ width: 1 }) : nothing), set: () => true });
  const look = { colors: {}, coloring: "use", chosen: undefined, queueColor: () => "", heats: new Map() } as unknown as Look;
  expect(redraw(context as CanvasRenderingContext2D, before, now, look)).toBe(1);
  expect(standsAs(before, layOut(nodes, 600))).toBe(false);
  expect(standsAs(before, layOut(nodes.slice(1), 500))).toBe(false);
});

it("gives every queue a colour of its own, whoever else is there", () => {
  const hues = [...huesOf(["red", "blue", "red", ""]).values()];
  expect(hues).toHaveLength(2);
  expect(Math.abs((hues[0] ?? 0) - (hues[1] ?? 0))).toBeGreaterThan(60);
});
