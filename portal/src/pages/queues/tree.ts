/** Queues as a tree. */
import type { Amount, QueueView } from "../../api/schema";

export interface Branch {
  queue: QueueView;
  depth: number;
}

/** Queues in the order of the tree, parents first; one whose parent is not seen is a root. */
export function branches(items: readonly QueueView[]): Branch[] {
  const known = new Set(items.map((each) => each.name));
  const below = new Map<string, QueueView[]>();
  for (const each of items) {
    const parent = known.has(each.parent) ? each.parent : "";
    below.set(parent, [...(below.get(parent) ?? []), each]);
  }
  const found: Branch[] = [];
  const walk = (parent: string, depth: number) => {
    for (const each of below.get(parent) ?? []) {
      found.push({ queue: each, depth });
      walk(each.name, depth + 1);
    }
  };
  walk("", 0);
  return found;
}

/** GPUs of a rule, all flavors together, in thousandths; null = it is about none. */
export function total(amounts: Record<string, Amount>): number | null {
  const known = Object.values(amounts).flatMap((each) => (each.gpu_milli === null ? [] : [each.gpu_milli]));
  return known.length ? known.reduce((sum, each) => sum + each, 0) : null;
}
