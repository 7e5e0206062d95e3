/** What an event says beside its type and its subject, for people. */
import type { TrailRecord } from "../../api/schema";
import { harmless } from "../../ui/text";

const ELSEWHERE = new Set(
  ["type", "at", "gang", "node", "name", "queue", "request", "actor", "grant", "glass", "by_token", "agent", "cluster", "scheduler"].concat(
    ["number", "workload"],
  ),
);

/** The gang, node, queue or booking that an event is about; empty = the whole fleet. */
export function subjectOf(record: TrailRecord): string {
  const { event } = record;
  for (const key of ["gang", "node", "queue", "booking", "price", "budget"]) {
    const found = event[key];
    if (typeof found === "string" && found) return found;
    if (found && typeof found === "object") {
      const about = found as Record<string, unknown>;
      const name = about["id"] ?? about["name"] ?? about["flavor"] ?? about["queue"];
      if (name) return String(name);
    }
  }
  for (const key of ["name", "workload", "subject", "user", "token", "what"]) {
    const found = event[key];
    if (typeof found === "string" && found) return found;
  }
  return "";
}

/** Simple values of an event. */
export function detailsOf(record: TrailRecord): string {
  if (record.problem) return record.problem;
  const { event } = record;
  if (typeof event["cause"] === "string" && event["cause"]) return event["cause"];
  return Object.entries(event)
    .filter(([key, value]) => !ELSEWHERE.has(key) && ["string", "number", "boolean"].includes(typeof value))
    .map(([key, value]) => `${key.replaceAll("_", " ")} ${harmless(String(value), 200)}`)
    .join(", ");
}
