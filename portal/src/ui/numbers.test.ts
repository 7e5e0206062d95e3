import { expect, it } from "vitest";
import { absolute, duration, gpuHours, money, relative } from "./numbers";

it("says durations in their two largest units", () => {
  expect([0, 999, 61_000, 3_600_000, 90_061_000].map(duration)).toEqual([
    "0 s",
    "1 s",
    "1 min 1 s",
    "1 h",
    "1 d 1 h",
  ]);
});

it("says moments before and after now", () => {
  expect(relative(1_000_000, 1_090_000)).toBe("1 min 30 s ago");
  expect(relative(1_090_000, 1_000_000)).toBe("in 1 min 30 s");
});

it("says the date where it is another day, and the zone where it is not that of the machine", () => {
  const noon = Date.UTC(2026, 10, 28, 12);
  expect(absolute(noon, noon + 1, "utc")).toBe("12:00:00 UTC");
  expect(absolute(noon - 86_400_000, noon, "utc")).toBe("2026-11-27 12:00:00 UTC");
});

it("says money although the currency is none", () => {
  expect(money(2_500_000, "EUR")).toBe("€2.50");
  expect(money(2_500_000, "")).toBe("2.5");
});

it("says what was metered in GPU-hours", () => {
  expect([0, 3_600_000_000, 54_000_000].map(gpuHours)).toEqual([0, 1, 0.02]);
});
