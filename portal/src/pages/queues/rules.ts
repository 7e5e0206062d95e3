/** Rules of a queue as they are written, and what follows from them. */
import { Problem } from "../../api/client";
import type { PolicyChange } from "../../api/schema";
import { word } from "../../ui/text";
import { fieldOf, parsed, type Parsed, type Path } from "../submit/file";
import type { Rules } from "./may";

export const AMOUNTS = [
  { key: "quota", title: "Quota", hint: "guaranteed" },
  { key: "limit", title: "Limit", hint: "most it may use" },
  { key: "lend_limit", title: "Lends", hint: "most of its unused quota that others may use" },
  { key: "user_limit", title: "One user", hint: "most that one user may use in it" },
] as const;

export type AmountKey = (typeof AMOUNTS)[number]["key"];

/** Where the GPUs of an amount stand: below `gpus` where it says CPUs or memory too. */
export function amountPath(file: Parsed, key: AmountKey, flavor: string): Path {
  const there = file.body && (file.body[key] as Rules | undefined)?.[flavor];
  return there && typeof there === "object" ? [key, flavor, "gpus"] : [key, flavor];
}

/** Flavors that the form has rows for: those of the nodes, and those that are written. */
export function rowsOf(file: Parsed, known: readonly string[]): string[] {
  const written = AMOUNTS.flatMap(({ key }) => {
    const found = file.body?.[key];
    return found && typeof found === "object" && !Array.isArray(found) ? Object.keys(found) : [];
  });
  const named = [...new Set([...known, ...written])].filter((each) => each !== "*" && each !== "cpu");
  return [...named.sort(), "*"];
}

/** What the server says is wrong, by the key of the field. */
export function wrongOf(error: Error | null): Map<string, string> {
  if (!(error instanceof Problem)) return new Map();
  return new Map(error.errors.filter((each) => each.key).map((each) => [each.key, each.detail]));
}

/** Changes of one queue, without what says only which queue it is. */
export function ownChanges(changes: readonly PolicyChange[], name: string): PolicyChange[] {
  const above = `queues.${name}`;
  return changes.flatMap((each) => {
    if (each.key === above) return []; // that it is there
    return [each.key.startsWith(`${above}.`) ? { ...each, key: each.key.slice(above.length + 1) } : each];
  });
}

const FLAGS: Readonly<Record<string, string>> = {
  parent: "--parent",
  weight: "--weight",
  priority: "--priority",
  max_pending: "--max-pending",
};

/** The command that does the same: by options where these can say it, else by a file. */
export function lineOf(name: string, changes: readonly PolicyChange[]): string {
  const options = changes.map(({ key, after }) => {
    const amount = /^(quota|limit)\.([^.:\s]+)$/.exec(key);
    if (after === null) return null;
    if (amount && amount[2] !== "cpu" && /^[0-9.]+$/.test(after))
      return `--${amount[1]} ${word(amount[2] === "*" ? after : `${amount[2]}:${after}`)}`;
    return FLAGS[key] ? `${FLAGS[key]} ${word(after)}` : null;
  });
  const shown = word(name || "NAME");
  if (options.includes(null)) return `ganglion queues set ${shown} --file queue.yaml`;
  return ["ganglion queues set", shown, ...options].join(" ");
}

const isMapping = (value: unknown): value is Rules =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Theirs, with what mine changed of the rules that both began with. */
export function merged(before: Rules, mine: Rules, theirs: Rules): Rules {
  const found: Rules = { ...theirs };
  for (const key of new Set([...Object.keys(before), ...Object.keys(mine)])) {
    const [old, now, other] = [before[key], mine[key], theirs[key]];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    if (now === undefined) delete found[key];
    else found[key] = isMapping(now) && isMapping(other) ? merged(isMapping(old) ? old : {}, now, other) : now;
  }
  return found;
}

/** The name that a draft gives a queue. */
export const nameIn = (text: string) => fieldOf(parsed(text), ["name"]);
