/** First queues: names as they are written, and a part of the GPUs for each. */
import type { FlavorReport, QueueView } from "../../api/schema";
import { word } from "../../ui/text";

export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** For each of so many queues an equal number of whole GPUs of each flavor, of those that no root is guaranteed yet. */
export function partsOf(flavors: readonly FlavorReport[], there: readonly QueueView[], queues: number): Record<string, number> {
  const parts = flavors.map(({ flavor, gpu_total_milli }) => {
    const given = there.reduce((sum, each) => sum + (each.parent ? 0 : (each.quota[flavor]?.gpu_milli ?? 0)), 0);
    return [flavor, Math.floor((gpu_total_milli - given) / 1000 / Math.max(1, queues))] as const;
  });
  return Object.fromEntries(parts.filter(([, gpus]) => gpus > 0));
}

export function lineOf(name: string, quota: Record<string, number>): string {
  const amounts = Object.entries(quota).map(([flavor, gpus]) => `--quota ${word(`${flavor}:${gpus}`)}`);
  return ["ganglion queues set", word(name), ...amounts].join(" ");
}
