/** Models that live work has, and those that lie on the machine of the server, each once. */
import type { ModelKept, ModelList, ModelRow, StoredModel } from "../../api/schema";
import { count } from "../../ui/numbers";

export interface ModelAt {
  uri: string;
  digest: string;
  version: string;
  /** Live workloads that have it, the newest first. */
  users: readonly string[];
  /** Null = none are kept. */
  kept: ModelKept | null;
  /** When it was used last, in ms; 0 = it does not lie there whole. */
  used: number;
}

/** Bytes as people say them: `3.2 GiB`. */
export function bytes(value: number): string {
  const [size, unit] = value >= 1 << 30 ? [1 << 30, "GiB"] : value >= 1 << 20 ? [1 << 20, "MiB"] : [1 << 10, "KiB"];
  return value < 1 << 10 ? `${count(value)} B` : `${count(Math.round((10 * value) / size) / 10)} ${unit}`;
}

const keyOf = (each: { uri: string; digest: string }) => `${each.uri} ${each.digest}`;

/** By what a row is found; two contents of one reference are two models. */
export const idOfModel = keyOf;

export function modelsOf(listed: ModelList): ModelAt[] {
  const found = new Map<string, ModelAt>();
  for (const row of listed.items) {
    if (!row.model) continue;
    const key = keyOf(row.model);
    const before = found.get(key);
    found.set(key, {
      uri: row.model.uri || row.model.reference,
      digest: row.model.digest,
      version: row.model.version,
      users: [...(before?.users ?? []), row.workload],
      // Programs of other accounts may get none: what the folder has is said where one may.
      kept: before?.kept && before.kept.state !== "off" ? before.kept : row.kept,
      used: 0,
    });
  }
  for (const each of listed.store?.models ?? []) found.set(keyOf(each), stored(each, found.get(keyOf(each))));
  return [...found.values()];
}

function stored(model: StoredModel, known: ModelAt | undefined): ModelAt {
  const kept = known?.kept ?? { state: "cached", bytes: model.bytes, of: model.bytes, trouble: "" };
  const version = /(?:@|^models:\/[^/]+\/)([^@/]+)$/.exec(model.uri)?.[1] ?? ""; // no workload says it
  return { uri: model.uri, digest: model.digest, version, users: [], ...known, kept, used: model.used };
}

const WORDS: Record<string, string> = {
  cached: "kept",
  fetching: "being fetched",
  queued: "to be fetched",
  failed: "failed",
  absent: "not kept",
  local: "a path of its own",
  off: "not kept",
};

/** Whether it lies on the machine of the server in a word, and how much of it or why not. */
export function saidOf(kept: ModelKept): readonly [string, string] {
  const word = WORDS[kept.state] ?? kept.state;
  if (kept.state === "cached") return [word, bytes(kept.bytes)];
  if (kept.state === "fetching") return [word, kept.of ? `${bytes(kept.bytes)} of ${bytes(kept.of)}` : "its size is not known yet"];
  return [word, kept.trouble];
}

export function keptOf(kept: ModelKept | null): string {
  if (!kept) return "";
  return saidOf(kept).filter(Boolean).join(kept.trouble ? ": " : ", ");
}

/** A model without the version that its name ends in: `hf://org/llama`. */
export function baseOf(row: { uri: string; version: string }): string {
  const end = `@${row.version}`;
  return row.version && row.uri.endsWith(end) ? row.uri.slice(0, -end.length) : row.uri;
}

/** What tells a model from others of its name: `3` of `models:/chat/3`, the digits of a commit. */
export function versionIn(uri: string): string {
  return /[@/]([^@/]+)$/.exec(uri)?.[1] ?? uri;
}

/** How far replicas are with the model of their service, and whether its name means another one by now. */
export function rolloutOf(row: Pick<ModelRow, "fresh" | "outdated" | "moved" | "trouble" | "now"> | undefined): string {
  if (!row) return "";
  const parts: string[] = [];
  if (row.outdated) parts.push(`${row.fresh} of ${row.fresh + row.outdated} replicas have it`);
  if (row.moved) parts.push(`its name means ${row.now?.version ? `version ${row.now.version}` : "another version"} by now`);
  if (row.trouble) parts.push(row.trouble);
  return parts.join("; ");
}
