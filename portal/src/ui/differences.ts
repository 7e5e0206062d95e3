/** What differs between two policies, in the words of the server: dotted keys, values as in a file. */
import type { PolicyChange } from "../api/schema";

type Leaf = string | number | boolean | null;

function flattened(value: unknown, key: string, into: Map<string, string>): void {
  if (Array.isArray(value)) {
    // Queues and bookings have names: where one stands in a list does not matter.
    const named = value.every((each) => typeof (each as { name?: unknown } | null)?.name === "string");
    if (named && value.length)
      for (const each of value as { name: string }[]) flattened(each, `${key}.${each.name}`, into);
    else into.set(key, JSON.stringify(value));
  } else if (value && typeof value === "object") {
    for (const [name, each] of Object.entries(value)) flattened(each, key ? `${key}.${name}` : name, into);
  } else into.set(key, String((value ?? "none") as Leaf));
}

export function differences(before: unknown, after: unknown): PolicyChange[] {
  const [old, now] = [new Map<string, string>(), new Map<string, string>()];
  flattened(before, "", old);
  flattened(after, "", now);
  const keys = [...new Set([...old.keys(), ...now.keys()])].sort();
  return keys
    .filter((key) => old.get(key) !== now.get(key))
    .map((key) => ({ key, before: old.get(key) ?? null, after: now.get(key) ?? null }));
}
