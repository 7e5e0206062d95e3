/** A question about the past: as a form has it, as it is sent, and as the command line has it. */
import { parse } from "yaml";
import type { Question } from "../../api/schema";
import { word } from "../../ui/text";

export interface QuestionForm {
  since: string;
  until: string;
  policy: string;
  nodes: string;
  queues: string;
  rules: string;
  prices: string;
  workload: string;
  at: string;
}

export const NOTHING: QuestionForm = {
  since: "7d",
  until: "",
  policy: "",
  nodes: "",
  queues: "",
  rules: "",
  prices: "",
  workload: "",
  at: "",
};

const KEPT = "what-if";

/** What was written in the form, in this tab. */
export function keptQuestion(): Partial<QuestionForm> {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") as Partial<QuestionForm>;
  } catch {
    return {};
  }
}

/** Keep it for the next time that the form is shown. */
export function keepQuestion(form: Partial<QuestionForm>): void {
  sessionStorage.setItem(KEPT, JSON.stringify(form));
}

/** One wish a line; spaces part them too, as in a command. */
export function wishes(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

/** Keys and values of a YAML text; a text = what is wrong with it. */
function mapping(text: string, what: string): Record<string, unknown> | string {
  let found: unknown;
  try {
    found = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    return `${what}: ${(error as Error).message}`;
  }
  if (found === null || typeof found !== "object" || Array.isArray(found)) return `${what}: there are no keys and values.`;
  return found as Record<string, unknown>;
}

/** What is sent; a text = what is wrong with the form. */
export function questionOf(form: QuestionForm): Question | string {
  const asked: Question = {
    since: form.since.trim() || "7d",
    until: form.until.trim(),
    nodes: wishes(form.nodes),
    queues: wishes(form.queues),
    rules: {},
    prices: wishes(form.prices),
    at: form.workload.trim() ? form.at.trim() : "",
    cluster: "",
  };
  if (form.policy.trim()) asked.policy = { text: form.policy, file: "policy.yaml" };
  if (form.rules.trim()) {
    const found = mapping(form.rules, "The rules of queues");
    if (typeof found === "string") return found;
    for (const [name, rules] of Object.entries(found)) {
      if (rules !== null && (typeof rules !== "object" || Array.isArray(rules)))
        return `The rules of queue ${name} have keys and values, as \`weight: 2\`.`;
      asked.rules[name] = (rules ?? {}) as Record<string, unknown>;
    }
  }
  if (form.workload.trim()) {
    const found = mapping(form.workload, "The workload file");
    if (typeof found === "string") return found;
    if (!asked.at) return "Say when the workload is submitted, as 24h (ago) or 2026-11-01T14:00Z.";
    asked.workload = found;
  }
  return asked;
}

/** The command that asks the same; what is text here is a file there. */
export function commandOf(form: QuestionForm): string {
  return [
    "ganglion whatif",
    ...(form.policy.trim() ? ["--policy policy.yaml"] : []),
    ...wishes(form.nodes).map((each) => `--nodes ${word(each)}`),
    ...wishes(form.queues).map((each) => `--queue ${word(each)}`),
    ...(form.rules.trim() ? ["--queue-rules queues.yaml"] : []),
    ...wishes(form.prices).map((each) => `--price ${word(each)}`),
    ...(form.workload.trim() ? [`--submit job.yaml --at ${word(form.at.trim() || "TIME")}`] : []),
    ...(form.since.trim() && form.since.trim() !== "7d" ? [`--since ${word(form.since.trim())}`] : []),
    ...(form.until.trim() ? [`--until ${word(form.until.trim())}`] : []),
  ].join(" ");
}
