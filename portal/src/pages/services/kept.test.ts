import { expect, it } from "vitest";
import type { ModelList, ModelRow } from "../../api/schema";
import { baseOf, bytes, keptOf, modelsOf, rolloutOf, versionIn } from "./kept";

const GIB = 1 << 30;
const model = { reference: "hf://org/llama@main", uri: "hf://org/llama@1", version: "1", digest: "git:1" };
const row = (workload: string, more: Partial<ModelRow>) => ({ workload, model, kept: null, ...more }) as ModelRow;
const at = (state: string, more = {}) => ({ state, bytes: 0, of: 0, trouble: "", ...more });

it("lists each model once, with the work that has it and what lies in the folder beside", () => {
  const other = { uri: "hf://org/old@9", digest: "git:9", bytes: 2 * GIB, used: 5 };
  const listed: ModelList = {
    items: [row("chat-2", { kept: at("off", { trouble: "of another account" }) }), row("chat-1", { kept: at("fetching", { bytes: GIB, of: 4 * GIB }) })],
    store: { folder: "/models", limit: 0, trouble: "", models: [other] },
  };
  const found = modelsOf(listed);
  expect(found.map((each) => [each.uri, each.users, keptOf(each.kept)])).toEqual([
    ["hf://org/llama@1", ["chat-2", "chat-1"], "being fetched, 1 GiB of 4 GiB"],
    ["hf://org/old@9", [], "kept, 2 GiB"],
  ]);
  expect([found[1]?.used, found[1]?.version]).toEqual([5, "9"]);
  const tracked = { ...other, uri: "models:/chat/3" };
  expect(modelsOf({ items: [], store: { folder: "/models", limit: 0, trouble: "", models: [tracked] } })[0]?.version).toBe("3");
});

it("says why a model is not there, and nothing where none are kept", () => {
  expect(keptOf(at("failed", { trouble: "the disk is full" }))).toBe("failed: the disk is full");
  expect(keptOf(at("fetching"))).toBe("being fetched, its size is not known yet");
  expect(keptOf(null)).toBe("");
});

it("tells the name of a model from its version", () => {
  expect(baseOf({ uri: "hf://org/llama@0a1b", version: "0a1b" })).toBe("hf://org/llama");
  expect(baseOf({ uri: "models:/chat/3", version: "3" })).toBe("models:/chat/3");
  expect(["models:/chat/3", "hf://org/llama@0a1b", "plain"].map(versionIn)).toEqual(["3", "0a1b", "plain"]);
});

it("says bytes as people do", () => {
  expect([500, 3 << 20, Math.round(3.24 * GIB), 0].map(bytes)).toEqual(["500 B", "3 MiB", "3.2 GiB", "0 B"]);
});

it("tells how far a rollout of a model is", () => {
  const row = { fresh: 1, outdated: 2, moved: false, trouble: "", now: null };
  expect(rolloutOf(row)).toBe("1 of 3 replicas have it");
  expect(rolloutOf({ ...row, outdated: 0 })).toBe("");
  expect(rolloutOf({ ...row, outdated: 0, moved: true })).toBe("its name means another version by now");
});
