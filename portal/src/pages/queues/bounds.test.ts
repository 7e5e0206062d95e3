import { expect, it } from "vitest";
import type { BoundView, PastUseView, QueueView } from "../../api/schema";
import { about, amount, nth, pastSaid, tightest } from "./bounds";

const bound = (more: Partial<BoundView>): BoundView => ({
  queue: "red",
  rule: "limit",
  flavor: "*",
  resource: "gpu_milli",
  most: 8000,
  used: 0,
  binds: true,
  ...more,
});
const past = (more: Partial<PastUseView>): PastUseView => ({
  half_life_ms: 604_800_000,
  gpu_milli: 4000,
  deserved_without_gpu_milli: 6000,
  used_permille: 750,
  weight_permille: 500,
  place: 2,
  place_without: 1,
  beside: 2,
  ...more,
});
const queue = (more: Partial<QueueView>) => ({ name: "red", deserved_gpu_milli: 4000, bounds: [], ...more }) as unknown as QueueView;

it("takes the limit of GPUs that leaves the least, whosever it is", () => {
  const own = bound({ flavor: "H100", most: 6000 });
  const above = bound({ queue: "org", most: 8000, used: 5000 });
  expect(tightest(queue({ bounds: [own, above] }))).toBe(above);
  expect(tightest(queue({ bounds: [own, bound({ queue: "org", used: 7000, binds: false })] }))).toBe(own);
  expect(tightest(queue({ bounds: [bound({ rule: "quota" }), bound({ resource: "cpu_milli" })] }))).toBeNull();
});

it("says amounts in the unit of what is bounded", () => {
  expect(amount(bound({}), 2500)).toBe("2.5");
  expect(amount(bound({ resource: "memory_mib" }), 2048)).toBe("2 GiB");
  expect(about(bound({ flavor: "H100" }))).toBe("H100");
  expect(about(bound({ resource: "cpu_milli" }))).toBe("CPUs");
});

it("says what the past takes away, and where it moves a queue to", () => {
  const said = pastSaid(queue({}), past({})).join(" ");
  expect(said).toContain("counts like 4 GPUs held all the time");
  expect(said).toContain("75 % of what it and the queues beside it have used; its weight is 50 % of theirs");
  expect(said).toContain("4 GPUs now, 2 fewer than if no queue had used anything");
  expect(said).toContain("Of the 2 queues side by side it is 2nd in the order; without its past it would be 1st");
});

it("says nothing about queues that are not shown, and of an order that forgets", () => {
  const alone = pastSaid(queue({}), past({ used_permille: null, weight_permille: null, place: null, place_without: null, beside: 0 }));
  expect(alone).toHaveLength(2);
  expect(pastSaid(queue({}), past({ place: 0, place_without: 0 })).at(-1)).toBe("The order of work does not look at what queues have used.");
});

it("counts places in words", () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21].map(nth)).toEqual(["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st"]);
});
