/** What bounds a queue and what its past does to it, as values and sentences. */
import type { BoundView, PastUseView, QueueView } from "../../api/schema";
import { count, duration, gpus, memory } from "../../ui/numbers";

/** The limit of GPUs that leaves a queue the least now, its own or one above it; null = there is none. */
export function tightest(queue: QueueView): BoundView | null {
  const limits = queue.bounds.filter((each) => each.rule === "limit" && each.resource === "gpu_milli" && each.binds);
  return limits.reduce<BoundView | null>(
    (least, each) => (least === null || left(each) < left(least) ? each : least),
    null,
  );
}

export const left = (bound: BoundView) => Math.max(0, bound.most - bound.used);

const WHAT: Record<string, string> = { gpu_milli: "GPUs", cpu_milli: "CPUs", memory_mib: "memory" };

/** What a bound is about: a flavor of GPUs by its name, else `GPUs`, `H100 CPUs`. */
export function about(bound: BoundView): string {
  const what = WHAT[bound.resource] ?? bound.resource;
  if (bound.flavor === "*") return what;
  return bound.resource === "gpu_milli" ? bound.flavor : `${bound.flavor} ${what}`;
}

export function amount(bound: BoundView, value: number): string {
  if (bound.resource === "memory_mib") return memory(value);
  return bound.resource === "gpu_milli" ? gpus(value) : count(value / 1000);
}

const percent = (permille: number) => `${count(Math.round(permille) / 10)} %`;
const FIRST = ["th", "st", "nd", "rd"];

export function nth(place: number): string {
  const teen = place % 100 > 10 && place % 100 < 14;
  return `${place}${(teen ? undefined : FIRST[place % 10]) ?? "th"}`;
}

/** How much history gives or takes, in sentences. */
export function pastSaid(queue: QueueView, past: PastUseView): string[] {
  const said = [
    `Use counts for half after ${duration(past.half_life_ms)}: what it has used counts like ${gpus(past.gpu_milli)} GPUs held all the time.`,
  ];
  if (past.used_permille !== null && past.weight_permille !== null && past.beside > 1)
    said.push(
      `That is ${percent(past.used_permille)} of what it and the queues beside it have used; its weight is ${percent(past.weight_permille)} of theirs.`,
    );
  const more = queue.deserved_gpu_milli - past.deserved_without_gpu_milli;
  said.push(
    more
      ? `It deserves ${gpus(queue.deserved_gpu_milli)} GPUs now, ${gpus(Math.abs(more))} ${more < 0 ? "fewer" : "more"} than if no queue had used anything.`
      : `It deserves ${gpus(queue.deserved_gpu_milli)} GPUs now, as many as if no queue had used anything.`,
  );
  if (past.place && past.place_without && past.beside > 1)
    said.push(
      past.place === past.place_without
        ? `Of the ${past.beside} queues side by side it is ${nth(past.place)} in the order, with and without its past.`
        : `Of the ${past.beside} queues side by side it is ${nth(past.place)} in the order; without its past it would be ${nth(past.place_without)}.`,
    );
  if (past.place === 0) said.push("The order of work does not look at what queues have used.");
  return said;
}
