import { expect, it } from "vitest";
import type { CurveView } from "../../api/schema";
import { corners, drawn } from "./lines";

const curve = (more: Partial<CurveView>): CurveView => ({
  ...{ attempt: 1, kind: "reported", name: "loss", times: [10, 20], steps: [1, 5], values: [2, 1] },
  ...more,
});

it("draws what a program reports by its steps, and by time where it counts none or goes back", () => {
  expect(drawn(curve({}))).toMatchObject({ title: "loss", by: "step", at: [1, 5], least: 1, most: 2 });
  expect(drawn(curve({ steps: [0, 0] })).by).toBe("time");
  expect(drawn(curve({ steps: [5, 1] })).by).toBe("time");
});

it("draws what is used from nothing up, in units for people", () => {
  const busy = drawn(curve({ kind: "used", name: "gpu_busy_milli", steps: [0, 0], values: [500, 990] }));
  expect(busy).toMatchObject({ title: "GPUs active", unit: "%", by: "time", values: [50, 99], least: 0, most: 100 });
  expect(drawn(curve({ kind: "used", name: "power_mw", values: [0, 0] })).most).toBe(1);
});

it("places points by when they were, not by their number", () => {
  expect(corners({ at: [7], values: [0], least: 0, most: 2 })).toBe("0,40 100,40");
  expect(corners({ at: [0, 10, 40], values: [0, 1, 2], least: 0, most: 2 })).toBe("0,40 25,20 100,0");
});
