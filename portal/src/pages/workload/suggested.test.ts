import { expect, it } from "vitest";
import type { Suggestion } from "../../api/schema";
import { changeOf, changeThere, optionsOf, withCount } from "./suggested";

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

it("changes work of a cluster by the command that does it there, to the pods that are named", () => {
  const east = { cluster: "east", namespace: "lab" };
  const both = suggestion({ priority: 90, queue: "east:fast", time_limit_ms: 1_200_000 });
  expect(changeThere(both, east, ["late-0", "late-1"])).toBe(
    "kubectl annotate --namespace lab --overwrite pods late-0 late-1 ganglion.dev/priority=90 ganglion.dev/time-limit=20m && " +
      "kubectl label --namespace lab --overwrite pods late-0 late-1 ganglion.dev/queue=fast",
  );
  expect(changeThere(suggestion({ priority: 0 }), east, ["a"])).toContain("ganglion.dev/priority=0");
  expect(changeThere(both, east, [])).toBeNull();
  expect(changeThere(suggestion({ gpus: 4 }), east, ["a"])).toBeNull();
});

it("keeps the type of GPUs", () => {
  expect([withCount("H100:8", 4), withCount("8", 4), withCount("", 2)]).toEqual(["H100:4", "4", "2"]);
});
