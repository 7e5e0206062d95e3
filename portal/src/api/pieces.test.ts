import { expect, it } from "vitest";
import { parsed, shared } from "./pieces";

const row = (n: number, more = "") => ({ position: n, name: `job-${n}${more}` });

it("reads a long page as JSON.parse does, whatever names hold", async () => {
  const hostile = '"},{"position":1,"items":[';
  const page = { items: Array.from({ length: 20_000 }, (_, n) => row(n, n % 7 ? "" : hostile)), total: 20_000, next: null };
  const text = JSON.stringify(page);
  expect(text.length).toBeGreaterThan(2 * 128 * 1024);
  expect(await parsed(text, "position")).toEqual(page);
  const other = JSON.stringify({ next: "abc", items: page.items });
  expect(await parsed(other, "position")).toEqual({ next: "abc", items: page.items });
});

it("reads short pages, and none", async () => {
  expect(await parsed('{"items":[],"total":0}', "position")).toEqual({ items: [], total: 0 });
  await expect(parsed("<html>", "position")).rejects.toThrow();
});

it("keeps rows that say the same, and the list if all do", () => {
  const before = { items: [row(1), row(2)], total: 2 };
  const name = (each: { name: string }) => each.name;
  const again = shared(before, { items: [row(1), row(2)], total: 2 }, name);
  expect(again.items).toBe(before.items);
  const moved = shared(before, { items: [row(2), row(1)], total: 2 }, name);
  expect(moved.items).toEqual([row(2), row(1)]);
  expect(moved.items[0]).toBe(before.items[1]);
});
