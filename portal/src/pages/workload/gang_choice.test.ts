import { expect, it } from "vitest";
import type { GangView } from "../../api/schema";
import { askThere, clusterOf, gangOf, saidOf } from "./gang_choice";

const gang = (index: number, params: Record<string, string> = {}) => ({ index, phase: "running", params }) as unknown as GangView;

it("shows the gang of the address, and the first one where it has left", () => {
  const job = { gangs: [gang(2), gang(5)] };
  expect(gangOf(job, 5)?.index).toBe(5);
  expect(gangOf(job, 0)?.index).toBe(2);
  expect(gangOf(job, undefined)?.index).toBe(2);
  expect(gangOf({ gangs: [] }, 0)).toBeUndefined();
});

it("names a trial by its parameters", () => {
  expect(saidOf(gang(3))).toBe("3 running");
  expect(saidOf(gang(3, { lr: "0.1", seed: "7" }))).toBe("3 running lr=0.1 seed=7");
});

it("knows work of clusters by what was recorded of it", () => {
  expect(clusterOf({ document: { cluster: "east", namespace: "lab", name: "train", gang: "lab/Job/train" } })).toEqual({
    ...{ cluster: "east", namespace: "lab", name: "train" },
  });
  expect(clusterOf({ document: { name: "train", run: "true" } })).toBeUndefined();
});

it("asks the cluster of a workload by the name that it has there", () => {
  const there = { cluster: "east", namespace: "lab", name: "train a" };
  expect(askThere("why", there)).toBe("ganglion why 'train a' --namespace lab --context CONTEXT");
  expect(askThere("logs", there, "--follow")).toMatch(/--context CONTEXT --follow$/);
});
