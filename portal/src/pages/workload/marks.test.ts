import { expect, it } from "vitest";
import type { GangView, LifeEvent } from "../../api/schema";
import { checkpointsOf, differencesOf, valueOf } from "./marks";

const mark = (at: number, kind: string, attempt: number, more: Partial<LifeEvent> = {}): LifeEvent => ({
  ...{ at, kind, attempt, step: 0, path: "", saved_by: 0, changes: [], why: "" },
  ...more,
});
const gang = (index: number, life: LifeEvent[], more: object = {}) =>
  ({ index, life, submitted: index, model: "", ...more }) as unknown as GangView;

it("lists every checkpoint, the newest first, with the attempts that went on from it", () => {
  const life = [
    mark(1, "checkpoint", 1, { step: 5 }),
    mark(2, "checkpoint", 1, { step: 9, path: "/ck/9" }),
    mark(3, "resumed", 2, { step: 9, path: "/ck/9", saved_by: 1 }),
    mark(4, "resumed", 3, { step: 9, path: "/ck/9", saved_by: 1 }),
    mark(5, "checkpoint", 3),
  ];
  const found = checkpointsOf({ gangs: [gang(0, life)] });
  expect(found.map(({ mark: { at }, resumed }) => [at, resumed])).toEqual([
    [5, []],
    [2, [2, 3]],
    [1, []],
  ]);
});

it("lists what was changed, and replicas that got another model", () => {
  const changes = [
    { name: "priority", before: "50", after: "70" },
    { name: "deadline_at", before: "", after: "1795867200000" },
  ];
  const one = gang(0, [mark(7, "changed", 1, { changes, why: "waiting raised it" })], { model: "s3://m/1" });
  const two = gang(1, [], { model: "s3://m/2", submitted: 9 });
  expect(differencesOf({ gangs: [two, one] }).map((row) => [row.at, row.gang, row.change.name, row.change.after, row.why])).toEqual([
    [7, 0, "priority", "70", "waiting raised it"],
    [7, 0, "deadline_at", "1795867200000", "waiting raised it"],
    [9, 1, "model", "s3://m/2", ""],
  ]);
  expect([valueOf("deadline_at", "1795867200000"), valueOf("queue", "")]).toEqual(["2026-11-28 12:00 UTC", "none"]);
});
