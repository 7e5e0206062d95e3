/** Updates of workloads, taken back. */
import { change, Problem } from "../api/client";
import type { BeforeUpdate, BulkAnswer } from "../api/schema";
import type { Doing } from "./undo";

const KEYS = ["priority", "queue", "held"] as const;
export type Updated = Partial<Pick<BeforeUpdate, (typeof KEYS)[number]>>;

/** What they were before -> ids of those that were so: one request puts each group back. */
export function groupsOf(before: readonly BeforeUpdate[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const each of before) {
    const was = KEYS.flatMap((key) => (each[key] === null || each[key] === undefined ? [] : [[key, each[key]] as const]));
    const key = JSON.stringify(Object.fromEntries(was));
    found.set(key, [...(found.get(key) ?? []), each.workload]);
  }
  return found;
}

/** Put back what was before; those that another changed since are left as they are, and named. */
export function undoUpdates(said: string, before: readonly BeforeUpdate[], changes: Updated): Doing {
  const queue = changes.queue?.split("/").at(-1);
  const only_if = queue === undefined ? changes : { ...changes, queue };
  const undo = async () => {
    const refused: string[] = [];
    for (const [was, workloads] of groupsOf(before)) {
      const answer = await change<BulkAnswer>("POST", "/workloads:update", { workloads, changes: JSON.parse(was), only_if });
      refused.push(...answer.problems.map((each) => `${each.workload}: ${each.detail}`));
    }
    if (refused.length)
      throw new Problem(412, "state.stale", `${refused.length} of ${before.length} stay as they are. ${refused.slice(0, 5).join("; ")}`, "");
  };
  return { said, undo, reads: ["order", "workloads", "workload"] };
}
