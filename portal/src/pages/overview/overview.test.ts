import { expect, it } from "vitest";
import type { WorkloadView } from "../../api/schema";
import { endedLast, liveFirst, standing } from "./overview";

const job = (id: string, state: string, ended: number | null) => ({ id, state, ended }) as WorkloadView;

it("puts what ended last first, whenever it was submitted", () => {
  const found = [job("c", "RUNNING", null), job("b", "CANCELLED", 10), job("a", "SUCCEEDED", 30), job("d", "FAILED", 20)];
  expect(endedLast(found).map((each) => each.id)).toEqual(["a", "d", "b"]);
  expect(found[0]?.id).toBe("c");
});

it("puts what runs before what waits, and that in the order of the queue", () => {
  const waits = (id: string, position: number) => ({ ...job(id, "QUEUED", null), position }) as WorkloadView;
  const found = [waits("b", 7), waits("c", 3), job("a", "RUNNING", null), waits("held", 0), job("x", "FAILED", 1)];
  expect(liveFirst(found).map((each) => each.id)).toEqual(["a", "c", "b", "held"]);
});

it("says where a queue stands in one sentence", () => {
  const queue = { gpu_used_milli: 1000, quota: {}, waiting: 1 } as unknown as Parameters<typeof standing>[0];
  expect(standing(queue)).toBe("uses 1 GPU and is guaranteed none; 1 gang waits");
  const risk = { deserved_gpu_milli: 400, reclaimable_gpu_milli: 600 };
  expect(standing({ ...queue, ...risk, waiting: 0 })).toBe(
    "uses 1 GPU and is guaranteed none; it deserves 0.4 now, so that others may reclaim 0.6",
  );
  expect(standing({ ...queue, waiting: 2 })).toBe("uses 1 GPU and is guaranteed none; 2 gangs wait");
});
