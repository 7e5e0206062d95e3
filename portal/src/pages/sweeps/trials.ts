/** Trials of a sweep, and which of them is best so far. */
import type { GangView, WorkloadDetail } from "../../api/schema";

export type Goal = "min" | "max";

export interface Trial {
  index: number;
  phase: string;
  tone: string;
  settings: string;
  value: number | null;
  step: number | null;
  message: string;
}

/** The metric by which trials of a sweep are compared, as its file says; null = it names none. */
export function goalOf(job: WorkloadDetail): { metric: string; goal: Goal } | null {
  const rule = job.document["early_stop"] as { metric?: unknown; goal?: unknown } | null | undefined;
  if (rule && typeof rule.metric === "string") return { metric: rule.metric, goal: /^max/.test(String(rule.goal)) ? "max" : "min" };
  const [first] = metricsOf(job);
  return first === undefined ? null : { metric: first, goal: "min" };
}

/** Every metric that some trial has reported; `loss` first, where there is one. */
export function metricsOf(job: WorkloadDetail): string[] {
  const names = new Set(job.gangs.flatMap((each) => Object.keys(each.metrics)));
  return [...names].sort((a, b) => Number(b === "loss") - Number(a === "loss") || a.localeCompare(b));
}

export function trialsOf(job: WorkloadDetail, metric: string): Trial[] {
  return job.gangs.map((gang) => {
    const told = gang.metrics[metric];
    return {
      index: gang.index,
      ...stateOf(gang),
      settings: Object.entries(gang.params).map(([key, value]) => `${key}=${value}`).join(", "),
      value: told?.value ?? null,
      step: told?.step ?? null,
      message: gang.message || gang.reason?.message || "",
    };
  });
}

const TONES: Record<string, string> = { running: "good", starting: "busy", stopping: "busy", pending: "wait", reserved: "wait" };

function stateOf(gang: GangView): { phase: string; tone: string } {
  if (gang.phase !== "ended") return { phase: gang.phase, tone: TONES[gang.phase] ?? "calm" };
  const outcome = gang.outcome ?? "ended";
  return { phase: outcome, tone: outcome === "succeeded" ? "good" : outcome === "stopped_early" ? "calm" : "bad" };
}

/** The trial with the best value; undefined = none has reported one. */
export function best(trials: readonly Trial[], goal: Goal): Trial | undefined {
  let found: Trial | undefined;
  for (const each of trials) {
    if (each.value === null) continue;
    if (!found || found.value === null || (goal === "max" ? each.value > found.value : each.value < found.value)) found = each;
  }
  return found;
}
