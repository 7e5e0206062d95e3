/** What an event says beside its type and its subject, for people. */
import type { TrailRecord } from "../../api/schema";
import { duration } from "../../ui/numbers";
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
    .map(([key, value]) => `${key.replace(/_ms$/, "").replaceAll("_", " ")} ${harmless(worded(key, value), 200)}`)
    .join(", ");
}

/** Milliseconds that are larger are a moment. */
const YEARS_MS = 1e12;

function worded(key: string, value: unknown): string {
  if (!key.endsWith("_ms") || typeof value !== "number") return String(value);
  if (value < YEARS_MS) return duration(value);
  return `${new Date(value).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
