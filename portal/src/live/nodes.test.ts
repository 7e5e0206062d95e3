import { expect, it } from "vitest";
import type { NodeView } from "../api/schema";
import { nodesOf } from "./nodes";

const node = (name: string, ...gangs: string[]) => ({ name, devices: [{ gangs }] }) as unknown as NodeView;
const KNOWN = [node("n0", "a-1/0"), node("n1", "a-1/0", "b-2/0"), node("n2")];
const of = (type: string, more: Record<string, unknown>) => nodesOf({ type, at: 0, ...more }, KNOWN);

it("names the nodes that an event changes", () => {
  expect(of("node_cordoned", { name: "n2" })).toEqual(["n2"]);
  expect(of("device_health", { node: "n1" })).toEqual(["n1"]);
  expect(of("gang_placed", { gang: "c-3/0", placement: { pods: [{ node: "n2" }] } })).toEqual(["n2"]);
  expect(of("gang_ended", { gang: "a-1/0" })).toEqual(["n0", "n1"]);
  expect(of("gang_resized", { gang: "b-2/0", placement: { pods: [{ node: "n2" }] } })).toEqual(["n2", "n1"]);
  expect(of("gang_submitted", { gang: { id: "c-3/0" } })).toEqual([]);
  expect(of("alarm_set", { subject: "a-1" })).toEqual([]);
});

it("names nodes of a cluster with the cluster before them", () => {
  const said = (type: string, more: Record<string, unknown>) => of("cluster_event", { cluster: "east", event: { type, at: 0, ...more } });
  expect(said("node_cordoned", { name: "n2" })).toEqual(["east:n2"]);
  expect(said("gang_placed", { gang: "lab/Job/t/u", placement: { pods: [{ node: "n2" }] } })).toEqual(["east:n2"]);
  expect(said("wait_groups", { groups: {} })).toEqual([]);
  expect(said("checkpoint_committed", { gang: "lab/Job/t/u" })).toEqual([]);
  expect(said("gang_ended", { gang: "a-1/0" })).toBeNull();
  expect(said("scheduler_settled", {})).toBeNull();
});

it("names none where any may have changed", () => {
  expect(of("gang_ended", { gang: "without-gpu-4/0" })).toBeNull();
  expect(of("node_added", { node: { name: "n9" } })).toBeNull();
  expect(of("booking_set", {})).toBeNull();
});
