import { expect, it } from "vitest";
import type { WorkloadView } from "../../api/schema";
import { endedLast, standing } from "./overview";

const job = (id: string, state: string, ended: number | null) => ({ id, state, ended }) as WorkloadView;

it("puts what ended last first, whenever it was submitted", () => {
  const found = [job("c", "RUNNING", null), job("b", "CANCELLED", 10), job("a", "SUCCEEDED", 30), job("d", "FAILED", 20)];
  expect(endedLast(found).map((each) => each.id)).toEqual(["a", "d", "b"]);
  expect(found[0]?.id).toBe("c");
});

it("says where a queue stands in one sentence", () => {
  const queue = { gpu_used_milli: 1000, quota: {}, waiting: 1 } as unknown as Parameters<typeof standing>[0];
  expect(standing(queue)).toBe("uses 1 GPU and is guaranteed none; 1 gang waits");
  expect(standing({ ...queue, waiting: 2 })).toBe("uses 1 GPU and is guaranteed none; 2 gangs wait");
});
