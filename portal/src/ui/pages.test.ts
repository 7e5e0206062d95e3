import { expect, it } from "vitest";
import type { QueueView, WhoAmI } from "../api/schema";
import { ownQueue } from "../pages/admin/roles";
import { mayBudget } from "../pages/queues/may";
import { shownTo } from "./pages";

const me = (...grants: readonly [role: string, queue: string][]) =>
  ({ owner: false, every_queue: false, grants: grants.map(([role, queue]) => ({ role, queue, break_glass: false })) }) as unknown as WhoAmI;

it("leads to pages of the fleet only those who see it, and names each group once", () => {
  const titles = (who: WhoAmI) => shownTo(who).map((each) => each.title);
  const part = titles(me(["owner", "red"]));
  expect(part).toEqual(expect.arrayContaining(["Queue", "Queues", "Budgets", "Admin"]));
  expect(part).not.toEqual(expect.arrayContaining(["Fleet"]));
  expect(part.filter((each) => ["Fleet", "Timeline", "Nodes", "Bookings"].includes(each))).toEqual([]);
  expect(titles(me(["viewer", ""]))).toContain("Fleet");
  for (const who of [me(["owner", "red"]), me(["viewer", ""])])
    expect(shownTo(who).flatMap((each) => each.group ?? [])).toEqual(["Work", "Kinds of work", "Operations"]);
});

it("offers budgets to admins above a queue, of clusters too", () => {
  const items = [{ name: "red", parent: "" }, { name: "red-a", parent: "red" }] as QueueView[];
  const admin = me(["admin", "red"]);
  expect(["red", "red-a", "blue"].filter((each) => mayBudget(admin, items, each))).toEqual(["red-a"]);
  expect(mayBudget(me(["owner", "red"]), items, "red-a")).toBe(false);
  expect(mayBudget(me(["admin", "east:"]), items, "east:team")).toBe(true);
  expect(mayBudget(me(["admin", ""]), items, "red")).toBe(true);
});

it("grants on the own queue at first, where there is one", () => {
  expect(ownQueue(me(["owner", "red"], ["viewer", ""]))).toBe("red");
  expect(ownQueue(me(["owner", "red"], ["admin", "blue"]))).toBe("");
  expect(ownQueue(me(["admin", ""]))).toBe("");
});
