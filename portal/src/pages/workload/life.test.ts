import { expect, it } from "vitest";
import type { GangView, TimelineSpan, WorkloadDetail } from "../../api/schema";
import { attemptsOf, gpuHoursSoFar, lasting, stepsOf } from "./life";

const span = (more: Partial<TimelineSpan>) =>
  ({ gang: "a-1/0", attempt: 1, node: "n0", begin: 10, end: 20, open: false, milli: 8000, ...more }) as TimelineSpan;

it("puts the nodes of an attempt together, and knows whether it goes on", () => {
  const found = attemptsOf([
    span({ attempt: 2, begin: 30, end: 99, open: true }),
    span({}),
    span({ node: "n1", end: 25 }),
    span({ node: "n1", begin: 25, end: 26, milli: 4000 }),
  ]);
  expect(found).toEqual([
    { gang: "a-1/0", attempt: 1, nodes: ["n0", "n1"], begin: 10, end: 26, gpus: 16 },
    { gang: "a-1/0", attempt: 2, nodes: ["n0"], begin: 30, end: null, gpus: 8 },
  ]);
});

it("tells a life with all of its attempts, in order", () => {
  const gang = { id: "a-1/0", index: 0, attempt: 2, placement: null, placed: 30, started: 31, saved: null, ended: null, waited: [], life: [] };
  const job = { submitted: 1, gangs: [gang as unknown as GangView] } as WorkloadDetail;
  const past = attemptsOf([span({}), span({ attempt: 2, begin: 30, end: null, open: true })]);
  expect(stepsOf(job, past).map((each) => `${each.at} ${each.what}`)).toEqual([
    "1 submitted",
    "10 attempt 1 placed",
    "20 attempt 1 over",
    "30 attempt 2 placed",
    "31 started",
  ]);
});

it("says for what it waited before each attempt, and where that is unknown", () => {
  const part = (attempt: number, reason: string, total_ms: number, until: number) => ({ attempt, reason, total_ms, times: 1, until });
  const gang = {
    ...{ id: "a-1/0", index: 0, attempt: 2, placement: null, placed: 9_000, started: null, saved: null, ended: null, life: [] },
    ...{ submitted: 1_000, waited: [part(2, "quota", 2_000, 9_000), part(3, "capacity", 500, 12_500)] },
  };
  const job = { submitted: 1_000, gangs: [gang as unknown as GangView] } as WorkloadDetail;
  const past = attemptsOf([span({ begin: 5_000, end: 7_000 }), span({ attempt: 2, begin: 9_000, end: 12_000 })]);
  expect(stepsOf(job, past).map((each) => [each.what, each.waited?.map((one) => one.reason) ?? each.waited])).toEqual([
    ["submitted", undefined],
    ["attempt 1 placed", null],
    ["attempt 1 over", undefined],
    ["attempt 2 placed", ["quota"]],
    ["attempt 2 over", undefined],
    ["waits", ["capacity"]],
  ]);
});

it("shows an attempt of which only the wait is known, where that ended", () => {
  const gang = {
    ...{ id: "a-1/0", index: 0, attempt: 2, placement: null, placed: 9_000, started: null, saved: null, ended: 12_000, outcome: "succeeded", life: [] },
    ...{ exit_code: null, submitted: 1_000 },
    waited: [
      { attempt: 1, reason: "quota", total_ms: 3_000, times: 1, until: 4_000 },
      { attempt: 2, reason: "unknown", total_ms: 2_000, times: 1, until: 9_000 },
    ],
  };
  const job = { submitted: 1_000, gangs: [gang as unknown as GangView] } as WorkloadDetail;
  expect(stepsOf(job).map((each) => [each.at, each.what, each.waited?.map((one) => one.reason)])).toEqual([
    [1_000, "submitted", undefined],
    [4_000, "attempt 1 placed", ["quota"]],
    [9_000, "attempt 2 placed", ["unknown"]],
    [12_000, "succeeded", undefined],
  ]);
});

it("says for how long it runs, or waits again after it ran", () => {
  const waited = [
    { attempt: 1, reason: "quota", total_ms: 400, times: 1, until: 500 },
    { attempt: 2, reason: "capacity", total_ms: 3_000, times: 1, until: 8_000 },
  ];
  const job = (more: object) =>
    ({ submitted: 100, started: null, ended: null, spent: null, gangs: [{ attempt: 1, waited }], ...more }) as unknown as WorkloadDetail;
  expect(lasting(job({ state: "QUEUED" }), 1_100)).toEqual({ what: "Waits for", ms: 1_000 });
  expect(lasting(job({ state: "RUNNING", started: 600 }), 1_600)).toEqual({ what: "Runs for", ms: 1_000 });
  expect(lasting(job({ state: "QUEUED", started: 600 }), 9_000)).toEqual({ what: "Waits for", ms: 4_000 });
  expect(lasting(job({ state: "QUEUED", started: 600, gangs: [] }), 9_000)).toEqual({ what: "Waits for", ms: null });
  expect(lasting(job({ state: "CANCELLED", ended: 700 }), 9_000)).toEqual({ what: "Waited", ms: 600 });
});

it("counts what attempts held, and none of the wait between them", () => {
  const hour = 3_600_000;
  const spans = [span({ begin: 0, end: hour }), span({ attempt: 2, begin: 3 * hour, end: 99 * hour, open: true, milli: 500 })];
  const job = { spent: null, gangs: [{ attempt: 2 }] } as unknown as WorkloadDetail;
  expect(gpuHoursSoFar(job, spans, 4 * hour)).toEqual({ hours: 8.5, whole: true });
  expect(gpuHoursSoFar(job, spans.slice(1), 4 * hour)).toEqual({ hours: 0.5, whole: false });
  expect(gpuHoursSoFar(job, undefined, 4 * hour)).toBeNull();
  expect(gpuHoursSoFar({ ...job, spent: { gpu_ms: hour } } as WorkloadDetail, [], 0)).toEqual({ hours: 1, whole: true });
});

it("tells sizes, changes and checkpoints between attempts, and from which of them one went on", () => {
  const mark = (at: number, kind: string, attempt: number, more: object = {}) => ({ at, kind, attempt, step: 0, path: "", saved_by: 0, changes: [], why: "", ...more });
  const pods = [{ name: "pods of main", before: "4", after: "2" }];
  const life = [
    mark(11, "checkpoint", 1, { step: 100 }),
    mark(12, "checkpoint", 1, { step: 200 }),
    mark(14, "resized", 1, { changes: pods, why: "preempted for b-2/0" }),
    mark(25, "changed", 1, { changes: [{ name: "time_limit_ms", before: "", after: "7200000" }] }),
    mark(30, "resumed", 2, { step: 200, saved_by: 1 }),
    mark(33, "checkpoint", 2, { path: "/ck" }),
  ];
  const gang = { id: "a-1/0", index: 0, attempt: 2, placement: null, placed: 30, started: 31, saved: null, ended: null, waited: [], life };
  const job = { submitted: 1, gangs: [gang as unknown as GangView] } as WorkloadDetail;
  const past = attemptsOf([span({}), span({ attempt: 2, begin: 30, end: null, open: true })]);
  expect(stepsOf(job, past).map((each) => [each.at, each.what, each.more])).toEqual([
    [1, "submitted", undefined],
    [10, "attempt 1 placed", "on n0"],
    [12, "2 checkpoints", "up to step 200"],
    [14, "shrank", "pods of main 4 → 2: preempted for b-2/0"],
    [20, "attempt 1 over", undefined],
    [25, "changed", "time limit none → 2 h"],
    [30, "attempt 2 placed", "on n0; goes on from step 200 of attempt 1"],
    [31, "started", undefined],
    [33, "checkpoint", "/ck"],
  ]);
});
