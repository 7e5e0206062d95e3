/** Which answers an event makes out of date. */
import type { LedgerEvent } from "./stream";

export type Topic =
  | "order"
  | "workloads"
  | "nodes"
  | "gpus"
  | "queues"
  | "budgets"
  | "usage"
  | "timeline"
  | "bookings"
  | "drains"
  | "audit"
  | "schedules"
  | "policy"
  | "access"
  | "prices";

/** Answers that cost the server more, and are read again less often. */
export const SLOW: ReadonlySet<string> = new Set<Topic>(["usage", "timeline", "audit"]);

const FLEET: readonly Topic[] = ["nodes", "gpus", "order", "queues", "timeline", "bookings", "drains"];
const WORK: readonly Topic[] = [
  "order",
  "workloads",
  "nodes",
  "gpus",
  "queues",
  "budgets",
  "usage",
  "timeline",
];
const RULES: readonly Topic[] = ["queues", "order", "budgets", "usage", "policy", "prices"];
const PLANNED: readonly Topic[] = ["schedules", ...WORK];
const PEOPLE: readonly Topic[] = ["access"];

/** Every event is a record of the audit trail. */
export function topicsOf(event: LedgerEvent): readonly Topic[] {
  return [...stateOf(event.type), "audit"];
}

function stateOf(kind: string): readonly Topic[] {
  if (kind.startsWith("schedule_")) return PLANNED;
  if (/^(gang|pods|place|service|start|checkpoint|idle|alarm|cluster)_/.test(kind))
    return WORK;
  if (/^(node|device|booking)_/.test(kind)) return FLEET;
  if (/^(queue|policy|budget|price|typical)_/.test(kind)) return RULES;
  if (/^(role|glass|token|signed|user|password|account|bootstrap)_/.test(kind)) return PEOPLE;
  return [];
}

/** Whether an event may be about any workload: those of clusters have other names in events than in addresses. */
export function isOfAny(event: LedgerEvent): boolean {
  return event.type === "cluster_event";
}

/** The workload that an event is about; empty = about none. */
export function workloadOf(event: LedgerEvent): string {
  if (typeof event["workload"] === "string") return event["workload"];
  return gangOf(event).replace(/\/\d+$/, "");
}

export function gangOf(event: LedgerEvent): string {
  return typeof event.gang === "string" ? event.gang : (event.gang?.id ?? "");
}
