/** What work costs at most, or why that is not known. */
import type { WorkloadCost } from "../api/schema";
import { money } from "./numbers";

export function atMost(cost: WorkloadCost): string {
  return cost.most_micro === null ? `no bound: ${cost.unknown || "unknown"}` : `at most ${money(cost.most_micro, cost.currency)}`;
}
