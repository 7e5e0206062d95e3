import { expect, it } from "vitest";
import type { Verdict, WorkloadCost } from "../../api/schema";
import { atMost } from "../../ui/cost";
import { heldBy, isOf, type Plan } from "./plan";

const BODY = { name: "train", run: "true" };
const told: Plan = { step: "told", verdict: { plan: "abc" } as Verdict, of: JSON.stringify(BODY) };

it("holds a submission to the plan that was shown for the same file, and to no other", () => {
  expect(heldBy(told, BODY)).toBe("abc");
  expect(heldBy(told, { ...BODY, run: "false" })).toBe("");
  expect(heldBy(told, null)).toBe("");
  expect(heldBy({ step: "asking" }, BODY)).toBe("");
  expect([isOf(told, BODY), isOf(told, { ...BODY, run: "false" })]).toEqual([true, false]);
});

it("says what it costs at most, or why no bound is known", () => {
  const cost = { currency: "EUR", most_micro: 7_000_000, unknown: "" } as WorkloadCost;
  expect(atMost(cost)).toBe("at most €7.00");
  expect(atMost({ ...cost, most_micro: null, unknown: "it has no time limit" })).toBe("no bound: it has no time limit");
});
