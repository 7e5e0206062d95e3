import { expect, it } from "vitest";
import { Problem } from "../../api/client";
import type { QueueView, WhoAmI } from "../../api/schema";
import { fieldOf, parsed, withField } from "../submit/file";
import { mayBelow, mayChange, possibleParents } from "./may";
import { amountPath, lineOf, merged, ownChanges, rowsOf, wrongOf } from "./rules";
import { policyWith } from "./try";

const queue = (name: string, parent = "") => ({ name, parent }) as QueueView;
const TREE = [queue("org"), queue("lab", "org"), queue("deep", "lab"), queue("other", "org")];
const user = (role: string, on: string, more = {}) =>
  ({ every_queue: false, grants: [{ role, queue: on, break_glass: false }], ...more }) as unknown as WhoAmI;

it("offers changes to those with a grant above the queue alone", () => {
  expect(mayChange(user("owner", "lab"), TREE, "deep")).toBe(true);
  expect(mayChange(user("owner", "lab"), TREE, "lab")).toBe(false);
  expect(mayChange(user("maintainer", "org"), TREE, "deep")).toBe(false);
  expect(mayChange(user("admin", "", { every_queue: true }), TREE, "org")).toBe(true);
  const dormant = [{ role: "admin", queue: "org", break_glass: true }];
  expect(mayChange(user("admin", "org", { grants: dormant }), TREE, "lab")).toBe(false);
  expect(mayBelow(user("owner", "org"), [])).toBe(false);
  expect(possibleParents(TREE, "lab", user("owner", "org")).map((each) => each.name)).toEqual(["org", "other"]);
});

it("writes GPUs where an amount has them", () => {
  const file = parsed("name: lab\nquota: {H100: {gpus: 4, cpus: 64}, A100: 2}\n");
  expect(fieldOf(file, amountPath(file, "quota", "H100"))).toBe("4");
  expect(amountPath(file, "limit", "A100")).toEqual(["limit", "A100"]);
  const text = withField("name: lab # ours\n", amountPath(parsed("name: lab"), "limit", "H100"), "8");
  expect(parsed(text).body).toEqual({ name: "lab", limit: { H100: 8 } });
  expect(withField(text, ["limit", "H100"], "")).toBe("name: lab # ours\n");
  expect(rowsOf(file, ["L40"])).toEqual(["A100", "H100", "L40", "*"]);
});

it("names the command that does the same", () => {
  const to = (key: string, after: string | null) => ({ key, before: null, after });
  expect(lineOf("lab", [to("quota.H100", "8"), to("limit.*", "16.5"), to("weight", "2")])).toBe(
    "ganglion queues set lab --quota H100:8 --limit 16.5 --weight 2",
  );
  for (const other of [to("quota.H100", null), to("strict", "true"), to("quota.cpu", "64"), to("user_limit.H100", "2")])
    expect(lineOf("a b", [other])).toBe("ganglion queues set 'a b' --file queue.yaml");
});

it("says what is wrong at its field, and what changes without the name of the queue", () => {
  const problem = new Problem(422, "input.field", "two", "", [
    { key: "quota.H100", detail: "more than the parent has", hint: "", line: 0 },
    { key: "", detail: "all of it", hint: "", line: 0 },
  ]);
  expect([...wrongOf(problem)]).toEqual([["quota.H100", "more than the parent has"]]);
  expect(wrongOf(new Error("gone")).size).toBe(0);
  const said = ["queues.a.b", "queues.a.b.weight"].map((key) => ({ key, before: null, after: "2" }));
  expect(ownChanges(said, "a.b").map((each) => each.key)).toEqual(["weight"]);
});

it("asks about the past with the queue otherwise, added, and gone", () => {
  const document = { order: "fair", queues: [{ name: "a", weight: 2 }, { name: "b" }] };
  expect(policyWith(document, "a", { weight: 3 })["queues"]).toEqual([{ name: "b" }, { weight: 3, name: "a" }]);
  expect(policyWith(document, "c", {})["queues"]).toHaveLength(3);
  expect(policyWith(document, "a", null)).toEqual({ order: "fair", queues: [{ name: "b" }] });
});

it("keeps what another changed where it goes on with what was written", () => {
  const before = { quota: { A: 1, B: 2 }, weight: 2, strict: true };
  const mine = { quota: { A: 5, B: 2 }, weight: 3 };
  const theirs = { quota: { A: 1, B: 4 }, weight: 9, strict: true, limit: { A: 8 } };
  expect(merged(before, mine, theirs)).toEqual({ quota: { A: 5, B: 4 }, weight: 3, limit: { A: 8 } });
  expect(merged({}, { quota: { A: 1 } }, { quota: { B: 1 } })).toEqual({ quota: { A: 1, B: 1 } });
});
