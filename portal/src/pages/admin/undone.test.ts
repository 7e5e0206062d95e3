import { expect, it } from "vitest";
import type { BookingView, BudgetLine, GrantView, PriceView } from "../../api/schema";
import { madeOf } from "../bookings/booking";
import { keepsAll } from "../budgets/edit";
import { heldBefore } from "./prices";
import { againOf } from "./roles";

it("finds the price that held before another, of the same kind and hours", () => {
  const price = (number: number, since: number, micro: number | null, kind = "") => ({ number, since, micro, flavor: "H100", kind, hours: "" }) as PriceView;
  const items = [price(1, 10, 5), price(2, 20, 6), price(3, 90, 9), price(4, 20, 1, "service"), price(5, 30, 7)];
  expect(heldBefore(items, items[4]!)).toBe(6);
  expect(heldBefore(items, items[0]!)).toBe(null);
  expect(heldBefore(items, items[3]!)).toBe(null);
  expect(heldBefore([...items, price(6, 25, null)], items[4]!)).toBe(null);
});

it("offers no undo of a budget with which something is lost", () => {
  const line = { carried_micro: 0, raised_micro: 0, carry_over: true, zone: "UTC" } as BudgetLine;
  expect(keepsAll(undefined, true, "UTC")).toBe(true);
  expect(keepsAll(line, false, "")).toBe(true);
  expect(keepsAll({ ...line, carried_micro: 1 }, true, "UTC")).toBe(true);
  expect(keepsAll({ ...line, carried_micro: 1 }, false, "UTC")).toBe(false);
  expect(keepsAll({ ...line, raised_micro: 1 }, true, "Europe/Berlin")).toBe(false);
});

it("makes bookings and grants again as they were", () => {
  const row = { name: "b", nodes: ["n0"], begin: 0, end: 3_600_000, queues: [], users: ["ada"], reason: "fans", state: "planned", clears: true };
  expect(madeOf(row as BookingView)).toEqual({
    ...{ nodes: ["n0"], begin: "1970-01-01T00:00:00.000Z", end: "1970-01-01T01:00:00.000Z", queues: [] },
    ...{ users: ["ada"], reason: "fans", clears: true },
  });
  const grant = { subject: "user:eve", role: "viewer", queue: "red", until: 9, by: "ada", at: 1, break_glass: true, broken: [] };
  expect(againOf(grant as GrantView)).toEqual({ subject: "user:eve", role: "viewer", queue: "red", until: 9, break_glass: true });
});
