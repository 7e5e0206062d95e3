/** Who may change which queue: pages offer only that. The server decides all the same. */
import type { QueueView, WhoAmI } from "../../api/schema";
import { may } from "../../ui/may";

/** The rules of a queue, as a policy file says them. */
export type Rules = Record<string, unknown>;

/** The queue and all above it, the root last; a parent that is not seen ends it. */
export function lineage(items: readonly QueueView[], name: string): string[] {
  const parents = new Map(items.map((each) => [each.name, each.parent]));
  const found: string[] = [];
  for (let each = name; each && !found.includes(each); each = parents.get(each) ?? "") found.push(each);
  return found;
}

/** Whether a user may make, change and remove queues under the first of these; none = roots. */
export function mayBelow(me: WhoAmI, above: readonly string[]): boolean {
  return (
    me.every_queue ||
    me.grants.some(
      (each) => !each.break_glass && (each.role === "owner" || each.role === "admin") && above.includes(each.queue),
    )
  );
}

/** Whether a user may change a queue itself: that takes a grant above it. */
export const mayChange = (me: WhoAmI, items: readonly QueueView[], name: string) =>
  mayBelow(me, lineage(items, name).slice(1));

/** Whether a user may set the budget of a queue and answer requests for more of it: an admin above it. */
export function mayBudget(me: WhoAmI, items: readonly QueueView[], name: string): boolean {
  if (may(me, "budget")) return true;
  const cluster = /^[^:]+:/.exec(name)?.[0];
  const above = cluster ? [cluster] : lineage(items, name).slice(1);
  return me.grants.some((each) => !each.break_glass && each.role === "admin" && above.includes(each.queue));
}

/** Queues that one can be put under: neither itself nor what is below it. */
export function possibleParents(items: readonly QueueView[], name: string, me: WhoAmI): QueueView[] {
  return items.filter((each) => {
    const above = lineage(items, each.name);
    return !above.includes(name) && mayBelow(me, above);
  });
}
