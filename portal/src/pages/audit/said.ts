/** What an event says beside its type and its subject, for people. */
import type { AnchorCopy, TrailPage, TrailRecord, TrailVerdict } from "../../api/schema";
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

/** Pages in a row without a record that are passed over by themselves: 200,000 events. */
const PASSED = 20;

/** Whether to look further back at once: none of the last pages has a record, and they are few. */
export function isPassed(pages: readonly TrailPage[]): boolean {
  const full = pages.findLastIndex((each) => each.items.length > 0);
  const empty = pages.length - 1 - full;
  return empty > 0 && empty % PASSED !== 0;
}

/** What an anchor lacks, in words; empty = nothing. */
export function lacks(copy: AnchorCopy): string {
  if (copy.problem) return copy.problem;
  if (!copy.events) return "this server has written no checkpoint there yet";
  return copy.late ? "its newest checkpoint is older than it may be" : "";
}

/** What each part of the trail is covered by, the oldest part first. */
export function coverage(found: TrailVerdict): readonly { first: number; last: number; by: string }[] {
  const parts: { first: number; last: number; by: string }[] = [];
  const held = found.anchors.filter((each) => each.events > 0).sort((a, b) => a.events - b.events);
  let first = found.first;
  const add = (last: number, by: string) => {
    if (last >= first) parts.push({ first, last, by });
    first = Math.max(first, last + 1);
  };
  held.forEach((each, n) => add(each.events, `in ${held.slice(n).map((other) => other.where).join(", ")}`));
  add(found.signed, "signed, and in no anchor");
  add(found.last, "not signed yet");
  return parts;
}

/** Milliseconds that are larger are a moment. */
const YEARS_MS = 1e12;

function worded(key: string, value: unknown): string {
  if (!key.endsWith("_ms") || typeof value !== "number") return String(value);
  if (value < YEARS_MS) return duration(value);
  return `${new Date(value).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
