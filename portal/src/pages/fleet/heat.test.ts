import { expect, it } from "vitest";
import type { DeviceUse } from "../../api/schema";
import { heatsOf, placeOf, saidOf } from "./heat";

const device = (index: number, more: Partial<DeviceUse>) =>
  ({ node: "n0", index, busy_milli: null, power_mw: null, power_limit_mw: null, ...more }) as DeviceUse;

it("knows the part of each GPU that is at work, and leaves out what is unknown", () => {
  const devices = [device(0, { busy_milli: 250, power_mw: 350_000, power_limit_mw: 700_000 }), device(1, { busy_milli: 1100 }), device(2, { power_mw: 9 })];
  const active = heatsOf(devices, "activity");
  expect([...active]).toEqual([[placeOf("n0", 0), 0.25], [placeOf("n0", 1), 1]]);
  expect([...heatsOf(devices, "power")]).toEqual([[placeOf("n0", 0), 0.5]]);
  expect(saidOf(active, "n0", 3)).toBe("63 % on average, known of 2");
  expect(saidOf(active, "n1", 8)).toBe("");
});
