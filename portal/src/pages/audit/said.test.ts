import { expect, it } from "vitest";
import type { TrailRecord } from "../../api/schema";
import { detailsOf, subjectOf } from "./said";

const record = (event: Record<string, unknown>) => ({ event, problem: "" }) as TrailRecord;

it("names what an event is about, whatever its form", () => {
  expect(subjectOf(record({ type: "gang_submitted", gang: { id: "a-1/0" } }))).toBe("a-1/0");
  expect(subjectOf(record({ type: "gang_started", gang: "a-1/0" }))).toBe("a-1/0");
  expect(subjectOf(record({ type: "queue_set", queue: { name: "red" } }))).toBe("red");
  expect(subjectOf(record({ type: "price_set", price: { flavor: "H100" } }))).toBe("H100");
  expect(subjectOf(record({ type: "server_started" }))).toBe("");
});

it("says the cause in a sentence, else the simple values, and of a damaged event what is wrong", () => {
  expect(detailsOf(record({ type: "x", cause: "others need it", why: {} }))).toBe("others need it");
  expect(detailsOf(record({ type: "gang_ended", gang: "a", exit_code: 1, outcome: "failed" }))).toBe(
    "exit code 1, outcome failed",
  );
  expect(detailsOf(record({ type: "x", p50_ms: Date.UTC(2026, 10, 28, 19, 22, 49), raw_ms: 27_357_891 }))).toBe(
    "p50 2026-11-28 19:22:49 UTC, raw 7 h 35 min",
  );
  expect(detailsOf({ ...record({}), problem: "cannot be read" })).toBe("cannot be read");
});
