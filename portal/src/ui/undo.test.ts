import { afterEach, expect, it, vi } from "vitest";
import { Gone, Problem } from "../api/client";
import { forget, isUndo, remember, sendAll, undoLast, undoing, type Doing } from "./undo";
import { groupsOf, undoUpdates } from "./undo_updates";

afterEach(() => {
  forget();
  vi.unstubAllGlobals();
});

const doing = (said: string, more: Partial<Doing> = {}): Doing => ({ said, undo: () => Promise.resolve(), reads: [said], ...more });
const stale = new Problem(412, "state.stale", "the booking b was changed since it was read", "");

it("takes back what was done last, then what was done before", async () => {
  remember(doing("one"));
  remember(doing("two"));
  expect(await undoLast()).toEqual(["two"]);
  expect(undoing()).toMatchObject({ back: "two", error: null, doings: [{ said: "one" }] });
  expect(await undoLast()).toEqual(["one"]);
  expect(await undoLast()).toEqual([]);
});

it("refuses what another changed meanwhile, says how it is now, and offers it no more", async () => {
  remember(doing("booked", { undo: () => Promise.reject(stale), present: () => Promise.resolve("n1, 8:00") }));
  await undoLast();
  expect(undoing().error?.message).toBe("the booking b was changed since it was read. It is now: n1, 8:00");
  expect(undoing().doings).toEqual([]);
  remember(doing("booked", { undo: () => Promise.reject(stale), present: () => Promise.resolve("") }));
  await undoLast();
  expect(undoing().error?.message).toContain("It is gone.");
});

it("offers again what did not reach the server", async () => {
  remember(doing("cordon", { undo: () => Promise.reject(new Gone("no server")) }));
  await undoLast();
  expect(undoing().doings).toHaveLength(1);
});

it("sends what waits once another thing is done, or the page is left, and not after it was taken back", async () => {
  const send = vi.fn(() => Promise.resolve());
  remember(doing("cancel", { send }));
  expect(send).not.toHaveBeenCalled();
  await undoLast();
  sendAll(true);
  expect(send).not.toHaveBeenCalled();
  remember(doing("cancel", { send }));
  remember(doing("other"));
  expect(send).toHaveBeenCalledWith(false);
  expect(undoing().doings.map((each) => each.said)).toEqual(["other"]);
  remember(doing("cancel", { send }));
  sendAll(true);
  expect(send).toHaveBeenLastCalledWith(true);
});

it("leaves Ctrl+Z to fields of text", () => {
  const key = { key: "z", ctrlKey: true, metaKey: false, shiftKey: false, altKey: false };
  expect(isUndo(key, false)).toBe(true);
  expect(isUndo({ ...key, key: "Z", ctrlKey: false, metaKey: true }, false)).toBe(true);
  expect(isUndo(key, true)).toBe(false);
  expect(isUndo({ ...key, shiftKey: true }, false)).toBe(false);
  expect(isUndo({ ...key, key: "y" }, false)).toBe(false);
});

it("puts workloads back by what they were, on condition that they are as they were left", async () => {
  const before = [
    { workload: "a-1", priority: 5, queue: null, held: null },
    { workload: "b-2", priority: 7, queue: null, held: null },
    { workload: "c-3", priority: 5, queue: null, held: null },
  ];
  expect([...groupsOf(before)]).toEqual([
    ['{"priority":5}', ["a-1", "c-3"]],
    ['{"priority":7}', ["b-2"]],
  ]);
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", (_url: string, init: RequestInit) => {
    bodies.push(JSON.parse(String(init.body)));
    const problems = bodies.length === 2 ? [{ workload: "b-2", code: "state.stale", detail: "priority is 90, not 70", hint: "" }] : [];
    return Promise.resolve(new Response(JSON.stringify({ problems })));
  });
  await expect(undoUpdates("said", before, { priority: 70 }).undo()).rejects.toThrow("1 of 3 stay as they are. b-2: priority is 90, not 70");
  expect(bodies).toEqual([
    { workloads: ["a-1", "c-3"], changes: { priority: 5 }, only_if: { priority: 70 } },
    { workloads: ["b-2"], changes: { priority: 7 }, only_if: { priority: 70 } },
  ]);
  bodies.length = 0;
  await undoUpdates("said", [{ workload: "a-1", priority: null, queue: "red", held: null }], { queue: "org/blue" }).undo();
  expect(bodies).toEqual([{ workloads: ["a-1"], changes: { queue: "red" }, only_if: { queue: "blue" } }]);
});
