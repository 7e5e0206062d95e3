import { expect, it } from "vitest";
import type { GangView, WorkloadDetail } from "../../api/schema";
import { best, goalOf, metricsOf, trialsOf } from "./trials";

const gang = (index: number, more: Partial<GangView>) =>
  ({ index, phase: "running", params: { lr: String(index) }, metrics: {}, message: "", reason: null, outcome: null, ...more }) as GangView;
const told = (value: number | null) => ({ at: 0, step: 5, value, attempt: 1 });

const sweep = (rule: unknown, ...gangs: GangView[]) => ({ gangs, document: { early_stop: rule } }) as unknown as WorkloadDetail;

it("takes the trial with the smallest metric, or the largest where the sweep says so", () => {
  const gangs = [gang(0, { metrics: { loss: told(3) } }), gang(1, { metrics: { loss: told(1) } }), gang(2, { metrics: { loss: told(null) } })];
  const low = sweep({ metric: "loss", goal: "min" }, ...gangs);
  expect(best(trialsOf(low, "loss"), goalOf(low)?.goal ?? "max")?.index).toBe(1);
  const high = sweep({ metric: "loss", goal: "max" }, ...gangs);
  expect(best(trialsOf(high, "loss"), goalOf(high)?.goal ?? "min")?.index).toBe(0);
});

it("has no best trial where none has reported", () => {
  const job = sweep(null, gang(0, {}));
  expect(goalOf(job)).toBeNull();
  expect(best(trialsOf(job, "loss"), "min")).toBeUndefined();
});

it("names every metric, the loss first, and tells an ended trial by how it ended", () => {
  const job = sweep(null, gang(0, { metrics: { accuracy: told(1), loss: told(2) } }), gang(1, { phase: "ended", outcome: "failed" }));
  expect(metricsOf(job)).toEqual(["loss", "accuracy"]);
  expect(trialsOf(job, "loss").map((each) => each.phase)).toEqual(["running", "failed"]);
  expect(trialsOf(job, "loss")[0]?.settings).toBe("lr=0");
});
