/** What happened to a gang beside its attempts, in words. */
import type { LifeChange, LifeEvent, Saved, WorkloadDetail } from "../../api/schema";
import { count, duration } from "../../ui/numbers";

const NAMES: Record<string, string> = { time_limit_ms: "time limit", deadline_at: "deadline" };

export function nameOf(change: Pick<LifeChange, "name">): string {
  return NAMES[change.name] ?? change.name;
}

export function valueOf(name: string, text: string): string {
  if (!text) return "none";
  if (name.endsWith("_ms")) return duration(Number(text));
  return name === "deadline_at" ? `${new Date(Number(text)).toISOString().slice(0, 16).replace("T", " ")} UTC` : text;
}

/** `priority 50 → 70` */
export function changed(each: LifeChange): string {
  return `${nameOf(each)} ${valueOf(each.name, each.before)} → ${valueOf(each.name, each.after)}`;
}

/** A checkpoint by its step, else by its path. */
export function savedAs(saved: Pick<Saved, "step" | "path">): string {
  return saved.step ? `step ${count(saved.step)}` : saved.path || "a checkpoint without a step";
}

export interface CheckpointRow {
  key: string;
  gang: number;
  mark: LifeEvent;
  /** Attempts that went on from it. */
  resumed: readonly number[];
}

/** All checkpoints that are known, the newest first. */
export function checkpointsOf(job: Pick<WorkloadDetail, "gangs">): CheckpointRow[] {
  const rows = job.gangs.flatMap((gang) =>
    gang.life
      .filter((each) => each.kind === "checkpoint")
      .map((mark, n) => ({ key: `${gang.index}#${n}`, gang: gang.index, mark, resumed: resumedFrom(gang.life, mark) })),
  );
  return rows.sort((a, b) => b.mark.at - a.mark.at);
}

function resumedFrom(life: readonly LifeEvent[], mark: LifeEvent): number[] {
  if (!mark.step && !mark.path) return []; // it is not told from others
  return life
    .filter(
      (each) =>
        each.kind === "resumed" && each.saved_by === mark.attempt && each.step === mark.step && each.path === mark.path && each.at >= mark.at,
    )
    .map((each) => each.attempt);
}

export interface DifferenceRow {
  key: string;
  gang: number;
  at: number;
  /** The last attempt that was placed before. */
  attempt: number;
  change: LifeChange;
  why: string;
}

/** What was asked for otherwise than before, the newest last. */
export function differencesOf(job: Pick<WorkloadDetail, "gangs">): DifferenceRow[] {
  const rows = job.gangs.flatMap((gang) =>
    gang.life
      .filter((each) => each.kind === "changed")
      .flatMap((mark, n) =>
        mark.changes.map((change) => ({
          key: `${gang.index}#${n}#${change.name}`,
          gang: gang.index,
          at: mark.at,
          attempt: mark.attempt,
          change,
          why: mark.why,
        })),
      ),
  );
  return [...rows, ...otherModels(job)].sort((a, b) => a.at - b.at);
}

/** Replicas that were submitted with another model than the one before. */
function otherModels(job: Pick<WorkloadDetail, "gangs">): DifferenceRow[] {
  const gangs = [...job.gangs].sort((a, b) => a.submitted - b.submitted || a.index - b.index);
  return gangs.flatMap((gang, n) => {
    const before = gangs[n - 1]?.model ?? "";
    if (!before || before === gang.model) return [];
    const change = { name: "model", before, after: gang.model };
    return [{ key: `${gang.index}#model`, gang: gang.index, at: gang.submitted, attempt: 0, change, why: "" }];
  });
}
