/** Which of all prices hold now. */
import type { PriceView } from "../../api/schema";

/** Number of a price -> `holds`, `planned` or `past`. */
export function standingOf(items: readonly PriceView[], now: number): Map<number, string> {
  const newest = new Map<string, PriceView>();
  const found = new Map<number, string>();
  for (const each of [...items].sort((a, b) => a.since - b.since || a.number - b.number)) {
    if (each.since > now) {
      found.set(each.number, "planned");
      continue;
    }
    const key = JSON.stringify([each.flavor, each.kind, each.hours]);
    const before = newest.get(key);
    if (before) found.set(before.number, "past");
    newest.set(key, each);
    found.set(each.number, each.micro === null ? "past" : "holds");
  }
  return found;
}
