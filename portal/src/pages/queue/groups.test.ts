import { expect, it } from "vitest";
import type { OrderItem } from "../../api/schema";
import { actionsOf } from "./bulk";
import { gathered } from "./groups";

const row = (workload: string, gang: number, position: number, more: Partial<OrderItem> = {}) =>
  ({ workload, gang: `${workload}/${gang}`, position, queue: "red", user: "ada", kind: "train", gpus: 2, reason: "quota", never: false, submitted: 10, ...more }) as OrderItem;

it("sums what waits by a name, the largest group first", () => {
  const rows = [row("a", 0, 3), row("a", 1, 2), row("b", 0, 0, { queue: "blue", never: true, submitted: 5 })];
  const [red, blue] = gathered(rows, "queue");
  expect(red).toMatchObject({ name: "red", gangs: 2, workloads: 1, gpus: 4, first: 2, never: 0 });
  expect(blue).toMatchObject({ name: "blue", gangs: 1, first: null, oldest: 5, never: 1 });
  expect(gathered([row("a", 0, 1, { reason: "" })], "reason")[0]?.name).toBe("not looked at yet");
});

it("sends what the command would", () => {
  const known = actionsOf("80", "blue team");
  expect(known["Priority"]?.body).toEqual({ changes: { priority: 80 } });
  expect(known["Move"]?.line).toBe("ganglion update --queue 'blue team'");
  expect(known["Cancel"]?.path).toBe("/workloads:cancel");
});
