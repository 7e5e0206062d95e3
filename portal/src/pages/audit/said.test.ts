import { expect, it } from "vitest";
import type { TrailPage, TrailRecord, TrailVerdict } from "../../api/schema";
import { coverage, detailsOf, isPassed, lacks, subjectOf } from "./said";

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

it("passes over pages in which nothing fits, some at a time", () => {
  const page = (n: number) => ({ items: Array.from({ length: n }), head: 9, looked_back: 1 }) as unknown as TrailPage;
  const pages = (...counts: number[]) => counts.map(page);
  expect(isPassed([])).toBe(false);
  expect(isPassed(pages(3))).toBe(false);
  expect(isPassed(pages(0))).toBe(true);
  expect(isPassed(pages(3, 0))).toBe(true);
  expect(isPassed(Array.from({ length: 20 }, () => page(0)))).toBe(false);
  expect(isPassed(Array.from({ length: 21 }, () => page(0)))).toBe(true);
});

it("says which part of the trail is in which anchor", () => {
  const verdict = (anchors: object[]) =>
    ({ first: 1, last: 120, signed: 110, anchors: anchors.map((each) => ({ checkpoints: 1, problem: "", ...each })) }) as unknown as TrailVerdict;
  expect(coverage(verdict([{ where: "git g", events: 100 }, { where: "file f", events: 40 }, { where: "syslog s", events: 0 }]))).toEqual([
    { first: 1, last: 40, by: "in file f, git g" },
    { first: 41, last: 100, by: "in git g" },
    { first: 101, last: 110, by: "signed, and in no anchor" },
    { first: 111, last: 120, by: "not signed yet" },
  ]);
  expect(coverage(verdict([]))[0]).toEqual({ first: 1, last: 110, by: "signed, and in no anchor" });
});

it("says what an anchor lacks", () => {
  const copy = { where: "file f", events: 5, at: 1, behind: 0, since: 0, late: false, problem: "" };
  expect(lacks(copy)).toBe("");
  expect(lacks({ ...copy, late: true })).toContain("older than it may be");
  expect(lacks({ ...copy, late: true, problem: "no space" })).toBe("no space");
  expect(lacks({ ...copy, events: 0 })).toContain("no checkpoint there yet");
});
