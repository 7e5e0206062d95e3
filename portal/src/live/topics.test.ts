import { expect, it } from "vitest";
import { isOfAny, topicsOf, workloadOf } from "./topics";

it("has every page of work read again by what a cluster delivers, whose names differ", () => {
  const event = { type: "cluster_event", at: 0, cluster: "east", event: { type: "gang_placed", at: 0, gang: "lab/Job/t/u" } };
  expect(isOfAny(event)).toBe(true);
  expect(topicsOf(event)).toContain("workloads");
});

it("has the page of one workload read again by an event of the server's own work", () => {
  const event = { type: "gang_placed", at: 0, gang: "train-1/0" };
  expect(isOfAny(event)).toBe(false);
  expect(workloadOf(event)).toBe("train-1");
});
