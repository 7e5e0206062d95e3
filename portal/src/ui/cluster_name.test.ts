import { expect, it } from "vitest";
import { clusterName, knownAs } from "./cluster_name";

it("knows work of a cluster by its name there, and work of the server by its id", () => {
  const text = "east:lab/Job/train-7/0a-1b";
  expect(clusterName(text)).toEqual({ cluster: "east", key: "lab/Job/train-7/0a-1b", name: "train-7" });
  expect(clusterName("east:lab/Job/train-7/0a-1b/3")?.key).toBe("lab/Job/train-7/0a-1b/3");
  expect(clusterName("east:lab/PodGroup.scheduling.x-k8s.io/train")?.name).toBe("train");
  expect([text, "train-7", "sweep-1/4", "east:train-7-0a1b2c3d"].map(knownAs)).toEqual([
    "east:train-7",
    "train-7",
    "sweep-1/4",
    "east:train-7-0a1b2c3d",
  ]);
});
