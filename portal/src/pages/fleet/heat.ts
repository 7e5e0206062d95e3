/** How much of each GPU is at work, for the map: the part of the time in which it computed, or of its power. */
import type { DeviceUse } from "../../api/schema";

export type Heat = "activity" | "power";

export const placeOf = (node: string, index: number) => `${node} ${index}`;

/** Place of a GPU -> its part, from 0 to 1; those of which nothing is known are left out. */
export function heatsOf(devices: readonly DeviceUse[], heat: Heat): Map<string, number> {
  const found = new Map<string, number>();
  for (const { node, index, busy_milli, power_mw, power_limit_mw } of devices) {
    const part = heat === "activity" ? known(busy_milli, 1000) : known(power_mw, power_limit_mw);
    if (part !== null) found.set(placeOf(node, index), Math.min(1, Math.max(0, part)));
  }
  return found;
}

function known(value: number | null, of: number | null): number | null {
  return value === null || !of ? null : value / of;
}

/** The mean of some GPUs in words; empty = of none of them anything is known. */
export function saidOf(heats: ReadonlyMap<string, number>, node: string, gpus: number): string {
  const parts = Array.from({ length: gpus }, (_, n) => heats.get(placeOf(node, n))).filter((each) => each !== undefined);
  if (!parts.length) return "";
  const mean = parts.reduce((sum, each) => sum + each, 0) / parts.length;
  return `${Math.round(100 * mean)} % on average${parts.length < gpus ? `, known of ${parts.length}` : ""}`;
}
