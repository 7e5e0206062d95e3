/** What would become of a file, as the server said, and what of that a submission holds it to. */
import type { Verdict } from "../../api/schema";

export type Plan =
  | { step: "none" }
  | { step: "asking" }
  | { step: "wrong"; error: Error }
  /** `of`: the file that it was said of; another one may be written by now. */
  | { step: "told"; verdict: Verdict; of: string };

/** Whether what is shown was said of this file, and not of one that was written before. */
export function isOf(plan: Plan, body: Record<string, unknown> | null): boolean {
  return body !== null && plan.step === "told" && plan.of === JSON.stringify(body);
}

/** The plan that a submission of this file holds the server to; empty = none was shown for it. */
export function heldBy(plan: Plan, body: Record<string, unknown> | null): string {
  return plan.step === "told" && isOf(plan, body) ? plan.verdict.plan : "";
}
