import { expect, it } from "vitest";
import type { WhoAmI } from "../api/schema";
import { holds, may } from "./may";

const who = (role: string, queue = "", more: object = {}) =>
  ({ owner: false, grants: [{ subject: "user:eve", role, queue, until: null, break_glass: false, broken: [], ...more }] }) as unknown as WhoAmI;

it("offers what the server allows, by the role on the whole fleet", () => {
  for (const role of ["admin", "auditor", "owner", "maintainer"]) expect(may(who(role), "audit")).toBe(true);
  expect(may(who("operator"), "audit")).toBe(false);
  expect(may(who("auditor", "red"), "audit")).toBe(false);
  for (const what of ["tokens", "prices", "budget"]) {
    expect(may(who("admin"), what)).toBe(true);
    for (const role of ["auditor", "operator", "owner", "viewer"]) expect(may(who(role), what)).toBe(false);
  }
});

it("counts a grant for emergencies once its glass is broken", () => {
  const dormant = who("admin", "", { break_glass: true });
  expect([may(dormant, "fleet"), holds(dormant, "admin")]).toEqual([false, false]);
  const broken = who("admin", "", { break_glass: true, broken: [{ user: "eve", since: 1, until: 9, reason: "fire" }] });
  expect([may(broken, "fleet"), holds(broken, "admin")]).toEqual([true, true]);
});
