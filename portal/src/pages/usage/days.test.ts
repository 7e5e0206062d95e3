import { expect, it } from "vitest";
import type { UsageRow } from "../../api/schema";
import { days, top } from "./days";

const row = (day: string, hours: number) =>
  ({ day, held_gpu_us: hours * 3.6e9, cost_micro: hours * 2e6 }) as UsageRow;
const at = (day: string) => Date.parse(`${day}T00:00Z`);

it("has a bar for every day since something was held, also where nothing was", () => {
  const rows = [row("2026-11-24", 5), row("2026-11-26", 1)];
  const found = days(rows, at("2026-11-01"), at("2026-11-27") + 1, "hours");
  expect(found.map((each) => [each.day.slice(8), each.value])).toEqual([
    ["24", 5],
    ["25", 0],
    ["26", 1],
    ["27", 0],
  ]);
  expect(days(rows, at("2026-11-25"), at("2026-11-27"), "cost").map((each) => each.value)).toEqual([0, 2]);
});

it("has no bars where nothing was held, and no million of them", () => {
  expect(days([], 0, at("2026-11-27"), "hours")).toEqual([]);
  expect(days([row("1970-01-02", 1)], 0, at("2026-11-27"), "hours").length).toBeLessThan(402);
});

it("ends a scale at a round number", () => {
  expect([0, 0.03, 7, 10, 1234].map(top)).toEqual([1, 0.05, 10, 10, 2000]);
});
