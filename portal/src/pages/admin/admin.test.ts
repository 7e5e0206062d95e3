import { expect, it } from "vitest";
import type { PriceView } from "../../api/schema";
import { differences } from "../../ui/differences";
import { priceLine } from "./prices";
import { grantLine } from "./roles";
import { standingOf } from "./standing";
import { tokenLine } from "./token";

it("tells what differs between two policies, queues by their names", () => {
  const before = { evict: { restart: 1 }, queues: [{ name: "a", weight: 1 }, { name: "b", weight: 2 }] };
  const after = { evict: { restart: 2 }, queues: [{ name: "b", weight: 2 }, { name: "c", weight: 1 }] };
  expect(differences(before, after)).toEqual([
    { key: "evict.restart", before: "1", after: "2" },
    { key: "queues.a.name", before: "a", after: null },
    { key: "queues.a.weight", before: "1", after: null },
    { key: "queues.c.name", before: null, after: "c" },
    { key: "queues.c.weight", before: null, after: "1" },
  ]);
  expect(differences(before, structuredClone(before))).toEqual([]);
});

it("knows which price holds", () => {
  const price = (number: number, since: number, micro: number | null, flavor = "H100") =>
    ({ number, since, micro, flavor, kind: "", hours: "" }) as PriceView;
  const found = standingOf([price(1, 0, 5), price(2, 10, 6), price(3, 99, 7), price(4, 0, null, "A100")], 50);
  expect(Object.fromEntries(found)).toEqual({ 1: "past", 2: "holds", 3: "planned", 4: "past" });
});

it("prints commands that a shell takes, whatever the names are", () => {
  expect(tokenLine("ada", "viewer", "", "ci; rm -rf /", "90")).toBe("ganglion token create ada viewer --label 'ci; rm -rf /'");
  expect(grantLine("group:ml", "owner", "vision", "30", true)).toBe(
    "ganglion role grant group:ml owner -q vision --for 30d --break-glass",
  );
  expect(priceLine("H100", "2.5", "service", "20:00-08:00", "EUR")).toBe(
    "ganglion price set H100 2.5 --kind service --hours 20:00-08:00 --currency EUR",
  );
});
