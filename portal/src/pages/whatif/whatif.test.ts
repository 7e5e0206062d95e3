import { expect, it } from "vitest";
import { isSummary } from "./answer";
import { NOTHING, commandOf, questionOf } from "./asked";
import { difference, said, tone } from "./figures";

it("asks as the command line does", () => {
  const form = { ...NOTHING, nodes: "+4xH100:8\n-1xA100", queues: "red=quota:H100:16", since: "14d" };
  expect(questionOf(form)).toEqual({
    since: "14d",
    until: "",
    nodes: ["+4xH100:8", "-1xA100"],
    queues: ["red=quota:H100:16"],
    rules: {},
    prices: [],
    at: "",
    cluster: "",
  });
  expect(commandOf(form)).toBe(
    "ganglion whatif --nodes +4xH100:8 --nodes -1xA100 --queue red=quota:H100:16 --since 14d",
  );
  expect(commandOf({ ...NOTHING, prices: "H100=2;x" })).toContain("'H100=2;x'");
});

it("sends all rules of queues that were taken along, by name", () => {
  const form = { ...NOTHING, rules: "red-a:\n  parent: red\n  weight: 2\nnew:\n" };
  expect(questionOf(form)).toMatchObject({ rules: { "red-a": { parent: "red", weight: 2 }, new: {} }, queues: [] });
  expect(questionOf({ ...form, rules: "red: 2" })).toMatch(/rules of queue red/);
  expect(questionOf({ ...form, rules: "- red" })).toMatch(/keys and values/);
  expect(commandOf(form)).toBe("ganglion whatif --queue-rules queues.yaml");
});

it("sends a workload only with the time of its submission", () => {
  const form = { ...NOTHING, workload: "run: sleep 1\n" };
  expect(questionOf(form)).toMatch(/when/);
  expect(questionOf({ ...form, at: "24h" })).toMatchObject({ workload: { run: "sleep 1" }, at: "24h" });
  expect(questionOf({ ...form, workload: "- a", at: "24h" })).toMatch(/keys and values/);
  expect(questionOf({ ...form, workload: "a: [", at: "24h" })).toMatch(/workload file/);
});

it("shows all figures of a part of the queues, and of the whole fleet those of all jobs", () => {
  const group = (by: string) => ({ by, name: "", jobs: 1, waiting: 0, figures: {} });
  const shown = (...groups: string[]) => groups.map(group).filter((each) => isSummary({ groups: groups.map(group) }, each)).map((each) => each.by);
  expect(shown("queue", "others")).toEqual(["queue", "others"]);
  expect(shown("all", "queue", "size")).toEqual(["all"]);
});

it("says a difference only where it is larger than the error bar", () => {
  const figure = { past: 0, replay: 90_000, changed: 30_000, bar: 10_000, visible: true };
  expect(difference("wait_p50_ms", figure, "")).toBe("−1 min");
  expect(tone("wait_p50_ms", figure)).toBe("good");
  expect(tone("fairness_permille", figure)).toBe("bad");
  expect(tone("spend_micro", figure)).toBe("calm");
  expect(difference("wait_p50_ms", { ...figure, visible: false }, "")).toBe("none we can see");
  expect(said("lost_gpu_ms", 7_200_000, "")).toBe("2.00 GPU-h");
});
