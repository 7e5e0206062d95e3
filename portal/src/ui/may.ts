/** What the roles of a user allow: pages offer only that. The server decides all the same. */
import type { WhoAmI } from "../api/schema";

const FLEET: Record<string, readonly string[]> = {
  budget: ["admin"],
  fleet: ["admin", "operator"],
  policy: ["admin", "operator"],
  audit: ["admin", "auditor"],
  users: ["admin", "auditor", "owner", "maintainer"],
  view: ["admin", "auditor", "owner", "maintainer", "operator", "submitter", "viewer"],
};

/** Whether a user may change (of `audit`, `users` and `view`: read) something of the whole fleet. */
export function may(me: WhoAmI, what: keyof typeof FLEET): boolean {
  const roles = FLEET[what] ?? [];
  return me.owner || me.grants.some((each) => !each.queue && !each.break_glass && roles.includes(each.role));
}

/** Whether a user holds one of these roles anywhere, and so may see what is for them. */
export function holds(me: WhoAmI, ...roles: readonly string[]): boolean {
  return me.owner || me.grants.some((each) => !each.break_glass && roles.includes(each.role));
}
