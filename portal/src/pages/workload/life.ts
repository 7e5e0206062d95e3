/** The life of a workload: its attempts, and what it waited between them. */
import type { TimelineSpan, WorkloadDetail } from "../../api/schema";

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
}

/** What is known of its life: every attempt, and of the last one of each gang more. */
export function stepsOf(job: WorkloadDetail, past: readonly Attempt[] = []): Step[] {
  const steps: Step[] = [{ at: job.submitted, what: "submitted" }];
  const several = job.gangs.length > 1;
  const shown = job.gangs.slice(0, 20);
  for (const gang of shown) {
    const of = several ? ` (gang ${gang.index})` : "";
    const last = gang.attempt;
    for (const each of past.filter((one) => one.gang === gang.id && one.attempt < last)) {
      steps.push({ at: each.begin, what: `attempt ${each.attempt} placed${of}`, more: on(each.nodes) });
      if (each.end !== null) steps.push({ at: each.end, what: `attempt ${each.attempt} over${of}`, more: "waits again" });
    }
    const own = past.find((one) => one.gang === gang.id && one.attempt === last);
    const nodes = gang.placement ? [...new Set(gang.placement.pods.map((pod) => pod.node))] : (own?.nodes ?? []);
    const placed = gang.placed ?? own?.begin;
    if (placed) steps.push({ at: placed, what: `attempt ${last} placed${of}`, more: on(nodes) });
    if (gang.started) steps.push({ at: gang.started, what: `started${of}` });
    if (gang.saved) steps.push({ at: gang.saved.at, what: `checkpoint${of}`, more: `step ${gang.saved.step}` });
    if (gang.ended)
      steps.push({
        at: gang.ended,
        what: `${gang.outcome ?? "ended"}${of}`,
        more: gang.exit_code === null ? "" : `exit code ${gang.exit_code}`,
      });
    else if (own?.end) steps.push({ at: own.end, what: `attempt ${last} over${of}`, more: "waits again" });
  }
  return steps.sort((a, b) => a.at - b.at);
}

function on(nodes: readonly string[]): string {
  if (!nodes.length) return "";
  return `on ${nodes.slice(0, 4).join(", ")}${nodes.length > 4 ? ` and ${nodes.length - 4} more` : ""}`;
}
