import { expect, it } from "vitest";
import type { OrderItem } from "../../api/schema";
import { branches } from "../queues/tree";
import { sorted, type Column } from "../../ui/table";
import { fits, silentOf } from "./queue";
import type { QueueView } from "../../api/schema";

const row = (more: Partial<OrderItem>): OrderItem => ({
  position: 1,
  workload: "a-1",
  gang: "a-1/0",
  queue: "red",
  user: "ada",
  kind: "train",
  priority: 50,
  gpus: 1,
  reason: "capacity",
  message: "no GPU is free",
  never: false,
  submitted: 0,
  cluster: "",
  silent_since: 0,
  ...more,
});

it("keeps rows that fit every filter", () => {
  expect(fits(row({}), { text: "GPU", reason: "capacity", queue: "red", user: "ada" })).toBe(true);
  expect(fits(row({}), { text: "blue" })).toBe(false);
  expect(fits(row({}), { user: "eve" })).toBe(false);
});

it("names clusters whose scheduler is silent, each once", () => {
  const away = { cluster: "east", silent_since: 9 };
  expect([...silentOf([row({}), row(away), row(away), row({ cluster: "west" })])]).toEqual([["east", 9]]);
});

const COLUMNS: readonly Column<OrderItem>[] = [
  { key: "position", title: "#", width: "1fr", value: (each) => each.position || null, cell: () => null },
];

it("is in the order of the server unless another is asked for; what has no place comes last", () => {
  const rows = [row({ position: 2 }), row({ position: 0 }), row({ position: 10 })];
  const places = (sort?: string) => sorted(rows, COLUMNS, sort).map((each) => each.position);
  expect(places()).toEqual([2, 0, 10]);
  expect(places("position")).toEqual([2, 10, 0]);
  expect(places("-position")).toEqual([10, 2, 0]);
});

it("draws a tree of queues, although a parent is hidden", () => {
  const queue = (name: string, parent: string) => ({ name, parent }) as QueueView;
  const found = branches([queue("b", "a"), queue("a", ""), queue("c", "hidden")]);
  expect(found.map(({ queue: each, depth }) => `${depth}${each.name}`)).toEqual(["0a", "1b", "0c"]);
});
