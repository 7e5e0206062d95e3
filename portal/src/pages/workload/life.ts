/** The life of a workload: its attempts, and what it waited between them. */
import type { GangView, LifeEvent, TimelineSpan, WaitedFor, WorkloadDetail } from "../../api/schema";
import { changed, savedAs } from "./marks";

/** One attempt of one gang, on all of its nodes. */
export interface Attempt {
  gang: string;
  attempt: number;
  nodes: readonly string[];
  begin: number;
  /** null = it goes on. */
  end: number | null;
  gpus: number;
}

/** Spans of single nodes as attempts, the first first. */
export function attemptsOf(spans: readonly TimelineSpan[]): Attempt[] {
  const found = new Map<string, { spans: TimelineSpan[] }>();
  for (const each of spans) {
    const key = `${each.gang}#${each.attempt}`;
    const known = found.get(key);
    if (known) known.spans.push(each);
    else found.set(key, { spans: [each] });
  }
  return [...found.values()]
    .map(({ spans: of }): Attempt => {
      const [first] = of as [TimelineSpan];
      const begin = Math.min(...of.map((each) => each.begin));
      const early = new Map<string, number>();
      for (const each of of) if (!early.has(each.node)) early.set(each.node, each.milli);
      return {
        gang: first.gang,
        attempt: first.attempt,
        nodes: [...early.keys()],
        begin,
        end: of.some((each) => each.open) ? null : Math.max(...of.map((each) => each.end ?? each.begin)),
        gpus: [...early.values()].reduce((sum, each) => sum + each, 0) / 1000,
      };
    })
    .sort((a, b) => a.begin - b.begin);
}

export interface Step {
  at: number;
  what: string;
  more?: string;
  /** For what it waited before that; null = it is not known. */
  waited?: readonly WaitedFor[] | null;
  /** Whether it goes on. */
  open?: boolean;
  /** How many checkpoints it stands for. */
  saves?: number;
}

/** For what a gang waited before an attempt; nothing where it did not wait for as long as one sees. */
function wait(gang: GangView, attempt: number, from: number, until: number): Pick<Step, "waited"> {
  const found = gang.waited.filter((each) => each.attempt === attempt);
  if (found.length) return { waited: found };
  return until - from >= 1000 ? { waited: null } : {};
}

/** What is known of its life: every attempt, and of the last one of each gang more. */
export function stepsOf(job: WorkloadDetail, past: readonly Attempt[] = []): Step[] {
  const steps: Step[] = [{ at: job.submitted, what: "submitted" }];
  const several = job.gangs.length > 1;
  const shown = job.gangs.slice(0, 20);
  for (const gang of shown) {
    const of = several ? ` (gang ${gang.index})` : "";
    const last = gang.attempt;
    let from = gang.submitted || job.submitted;
    const mine = past.filter((one) => one.gang === gang.id && one.attempt < last);
    for (const attempt of unseen(gang, mine)) {
      const waited = gang.waited.filter((each) => each.attempt === attempt);
      steps.push({ at: Math.max(...waited.map((each) => each.until)), what: `attempt ${attempt} placed${of}`, waited });
    }
    for (const each of mine) {
      const waited = wait(gang, each.attempt, from, each.begin);
      steps.push({ at: each.begin, what: `attempt ${each.attempt} placed${of}`, more: placedAs(gang, each.attempt, each.nodes), ...waited });
      if (each.end !== null) steps.push({ at: each.end, what: `attempt ${each.attempt} over${of}` });
      from = each.end ?? from;
    }
    const own = past.find((one) => one.gang === gang.id && one.attempt === last);
    const nodes = gang.placement ? [...new Set(gang.placement.pods.map((pod) => pod.node))] : (own?.nodes ?? []);
    const placed = gang.placed ?? own?.begin;
    if (placed)
      steps.push({ at: placed, what: `attempt ${last} placed${of}`, more: placedAs(gang, last, nodes), ...wait(gang, last, from, placed) });
    if (gang.started) steps.push({ at: gang.started, what: `started${of}` });
    steps.push(...marked(gang, of));
    const next = gang.waited.filter((each) => each.attempt > last);
    const waited = next.length ? { waited: next } : {};
    if (gang.ended)
      steps.push({
        at: gang.ended,
        what: `${gang.outcome ?? "ended"}${of}`,
        more: gang.exit_code === null ? "" : `exit code ${gang.exit_code}`,
        ...waited,
      });
    else {
      if (own?.end) steps.push({ at: own.end, what: `attempt ${last} over${of}` });
      if (next.length) steps.push({ at: Math.max(...next.map((each) => each.until)), what: `waits${of}`, open: true, ...waited });
    }
  }
  return gathered(steps.sort((a, b) => a.at - b.at));
}

/** Where an attempt was placed, and from which checkpoint it went on. */
function placedAs(gang: GangView, attempt: number, nodes: readonly string[]): string {
  const resumed = gang.life.find((each) => each.kind === "resumed" && each.attempt === attempt);
  const from = resumed?.saved_by ? `goes on from ${savedAs(resumed)} of attempt ${resumed.saved_by}` : resumed?.why;
  return [on(nodes), from].filter(Boolean).join("; ");
}

/** What happened to a gang beside its attempts. */
function marked(gang: GangView, of: string): Step[] {
  const steps = gang.life.flatMap((each) => stepOf(each, of));
  if (gang.saved && !gang.life.some((each) => each.kind === "checkpoint"))
    steps.push({ at: gang.saved.at, what: `checkpoint${of}`, more: savedAs(gang.saved), saves: 1 });
  return steps;
}

function stepOf(mark: LifeEvent, of: string): Step[] {
  if (mark.kind === "resumed") return []; // said of the attempt
  if (mark.kind === "checkpoint") return [{ at: mark.at, what: `checkpoint${of}`, more: savedAs(mark), saves: 1 }];
  const what = mark.kind === "resized" ? direction(mark) : mark.kind;
  const said = mark.changes.map(changed).join(", ");
  return [{ at: mark.at, what: `${what}${of}`, more: mark.why ? `${said}: ${mark.why}` : said }];
}

function direction(mark: LifeEvent): string {
  const [before, after] = ["before", "after"].map((side) =>
    mark.changes.filter((each) => each.name.startsWith("pods of ")).reduce((sum, each) => sum + Number(each[side as "before" | "after"]), 0),
  ) as [number, number];
  return after === before ? "resized" : after > before ? "grew" : "shrank";
}

/** Checkpoints with nothing between them as one step. */
function gathered(steps: readonly Step[]): Step[] {
  const found: Step[] = [];
  for (const each of steps) {
    const last = found.at(-1);
    if (last?.saves && each.saves && last.what.replace(/^\d+ checkpoints/, "checkpoint") === each.what) {
      const saves = last.saves + 1;
      found[found.length - 1] = { ...each, what: each.what.replace("checkpoint", `${saves} checkpoints`), more: `up to ${(each.more ?? "").replace(/^up to /, "")}`, saves };
    } else found.push(each);
  }
  return found;
}

/** Earlier attempts of which nothing but their waits is known: each was placed when its wait ended. */
function unseen(gang: GangView, past: readonly Attempt[]): number[] {
  const known = new Set(past.map((each) => each.attempt));
  return [...new Set(gang.waited.map((each) => each.attempt))].filter((each) => each < gang.attempt && !known.has(each));
}

function on(nodes: readonly string[]): string {
  if (!nodes.length) return "";
  return `on ${nodes.slice(0, 4).join(", ")}${nodes.length > 4 ? ` and ${nodes.length - 4} more` : ""}`;
}

/** How long it does what it does now; of ended work, how long it waited. `ms` null = it is not known. */
export function lasting(job: WorkloadDetail, now: number): { what: string; ms: number | null } {
  if (job.spent) return { what: "Waited", ms: job.spent.wait_ms };
  if (job.ended) return { what: "Waited", ms: (job.started ?? job.ended) - job.submitted };
  if (job.state === "QUEUED") return { what: "Waits for", ms: job.started ? again(job, now) : now - job.submitted };
  if (!job.started) return { what: "Waited", ms: now - job.submitted };
  return { what: job.state === "SUSPENDED" ? "Since its start" : "Runs for", ms: now - job.started };
}

/** For how long what ran before waits again: that of the gang that waits longest. */
function again(job: WorkloadDetail, now: number): number | null {
  const stretches = job.gangs.flatMap((gang) => {
    const parts = gang.waited.filter((each) => each.attempt > gang.attempt);
    const seen = parts.reduce((sum, each) => sum + each.total_ms, 0);
    return parts.length ? [seen + Math.max(0, now - Math.max(...parts.map((each) => each.until)))] : [];
  });
  return stretches.length ? Math.max(...stretches) : null;
}

/** What it has held, and whether all of its attempts are in that; null = not read yet. */
export function gpuHoursSoFar(
  job: WorkloadDetail,
  spans: readonly TimelineSpan[] | undefined,
  now: number,
): { hours: number; whole: boolean } | null {
  if (job.spent) return { hours: job.spent.gpu_ms / 3_600_000, whole: true };
  if (!spans) return null;
  const held = (each: TimelineSpan) => Math.max(0, (each.open ? now : (each.end ?? each.begin)) - each.begin);
  const milliMs = spans.reduce((sum, each) => sum + each.milli * held(each), 0);
  const known = new Set(spans.map((each) => `${each.gang}#${each.attempt}`)).size;
  return { hours: milliMs / 3_600_000_000, whole: known >= job.gangs.reduce((sum, each) => sum + each.attempt, 0) };
}
