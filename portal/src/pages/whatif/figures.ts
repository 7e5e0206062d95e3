/** The figures of an answer: their names, and how they are said. */
import { count, duration, hours, money } from "../../ui/numbers";
import type { WhatIfFigure } from "../../api/schema";

export const NAMES: Record<string, string> = {
  wait_p50_ms: "median wait",
  wait_p95_ms: "p95 wait",
  lost_gpu_ms: "work lost",
  held_gpu_ms: "held",
  fairness_permille: "fairness",
  spend_micro: "spend",
};

export function said(figure: string, value: number, currency: string): string {
  if (figure.startsWith("wait_")) return duration(value);
  if (figure.endsWith("_gpu_ms")) return `${hours(value / 3_600_000)} GPU-h`;
  if (figure === "fairness_permille") return (value / 1000).toFixed(3);
  if (figure === "spend_micro") return money(value, currency);
  return count(value);
}

/** The difference that the change makes, or that none can be seen. */
export function difference(figure: string, found: WhatIfFigure, currency: string): string {
  if (!found.visible) return "none we can see";
  const by = found.changed - found.replay;
  return `${by < 0 ? "−" : "+"}${said(figure, Math.abs(by), currency)}`;
}

/** Whether a difference is to the good; of what is held and spent that is open. */
export function tone(figure: string, found: WhatIfFigure): "good" | "bad" | "calm" {
  if (!found.visible || figure === "held_gpu_ms" || figure === "spend_micro") return "calm";
  const less = found.changed < found.replay;
  return (figure === "fairness_permille" ? !less : less) ? "good" : "bad";
}
