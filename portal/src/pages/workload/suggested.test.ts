import { expect, it } from "vitest";
import type { Suggestion } from "../../api/schema";
import { changeOf, optionsOf, withCount } from "./suggested";

const suggestion = (more: Partial<Suggestion>): Suggestion => ({
  change: "",
  level: "",
  stops: [],
  awaits: [],
  priority: null,
  queue: "",
  time_limit_ms: 0,
  pods: 0,
  gpus: 0,
  ...more,
});

it("changes in place what can be, as the command does", () => {
  expect(changeOf(suggestion({ priority: 0 }))).toEqual({ priority: 0 });
  const both = suggestion({ queue: "a b", time_limit_ms: 1_200_000 });
  expect(changeOf(both)).toEqual({ queue: "a b", time_limit: "20m" });
  expect(optionsOf(both)).toBe("--queue 'a b' --time-limit 20m");
});

it("changes nothing in place where others have to end, or the job has to be another one", () => {
  for (const more of [{ awaits: ["x/0"], priority: 5 }, { gpus: 4 }, { pods: 2 }, { level: "rack" }])
    expect(changeOf(suggestion(more))).toBeNull();
});

it("keeps the type of GPUs", () => {
  expect([withCount("H100:8", 4), withCount("8", 4), withCount("", 2)]).toEqual(["H100:4", "4", "2"]);
});
