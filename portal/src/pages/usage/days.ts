/** Bars over the days of a period. */
import type { UsageRow } from "../../api/schema";

export type Measure = "hours" | "cost";

export interface Day {
  day: string;
  value: number;
}

const DAY_MS = 86_400_000;
const MOST_DAYS = 400;

/** One bar for each day of UTC; days on which nothing was held are there too. */
export function days(rows: readonly UsageRow[], since: number, until: number, measure: Measure): Day[] {
  const known = new Map(rows.map((each) => [each.day, each]));
  const first = [...known.keys()].sort()[0];
  const begin = Math.max(since, first ? Date.parse(first) : until, until - MOST_DAYS * DAY_MS);
  const found: Day[] = [];
  for (let at = begin - (begin % DAY_MS); at < until; at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    const row = known.get(day);
    const value = measure === "cost" ? (row?.cost_micro ?? 0) / 1e6 : (row?.held_gpu_us ?? 0) / 3.6e9;
    found.push({ day, value });
  }
  return found;
}

/** A round number that a scale ends at. */
export function top(value: number): number {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((each) => each * size).find((each) => each >= value) ?? 10 * size;
}
