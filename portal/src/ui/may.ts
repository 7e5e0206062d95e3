/** What the roles of a user allow: pages offer only that. The server decides all the same. */
import type { GrantView, WhoAmI } from "../api/schema";

const FLEET: Record<string, readonly string[]> = {
  budget: ["admin"],
  fleet: ["admin", "operator"],
  policy: ["admin", "operator"],
  audit: ["admin", "auditor", "owner", "maintainer"],
  tokens: ["admin"],
  prices: ["admin"],
  users: ["admin", "auditor", "owner", "maintainer"],
  view: ["admin", "auditor", "owner", "maintainer", "operator", "submitter", "viewer"],
};

/** A grant for emergencies counts once its holder has broken the glass. */
const counts = (each: GrantView) => !each.break_glass || each.broken.length > 0;

/** Whether a user may change (of `audit`, `users` and `view`: read) something of the whole fleet. */
export function may(me: WhoAmI, what: keyof typeof FLEET): boolean {
  const roles = FLEET[what] ?? [];
  return me.owner || me.grants.some((each) => !each.queue && counts(each) && roles.includes(each.role));
}

/** Whether a user holds one of these roles anywhere, and so may see what is for them. */
export function holds(me: WhoAmI, ...roles: readonly string[]): boolean {
  return me.owner || me.grants.some((each) => counts(each) && roles.includes(each.role));
}
