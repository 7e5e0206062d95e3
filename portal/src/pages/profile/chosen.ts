/** What a user is notified of: as the form has it, as it is sent, and as the command line has it. */
import type { NoticeChoice } from "../../api/schema";
import { Problem } from "../../api/client";
import { word } from "../../ui/text";

export const EVENTS = [
  ["start", "starts"],
  ["end", "ends"],
  ["failure", "fails"],
  ["preemption", "is stopped for others"],
  ["budget", "may lack its budget"],
  ["waiting", "waits for longer than"],
] as const;

/** One recipient with its events. */
export interface Row {
  to: string;
  on: readonly string[];
  signingKey: string;
  /** How long it waits, as `30m`; counts with `waiting` in `on`. */
  waiting?: string;
}

export const LONG_WAIT = "1h";

export const isMail = (to: string) => to.includes("@") && !to.includes("://");

export function rowsOf(items: readonly NoticeChoice[]): Row[] {
  return items.flatMap((each) => [
    ...each.mail.map((to) => ({ to, on: each.on, signingKey: "", waiting: each.waiting })),
    ...each.webhook.map((to) => ({ to, on: each.on, signingKey: each.signing_key, waiting: each.waiting })),
  ]);
}

/** What is sent: rows without a recipient are left out. */
export function itemsOf(rows: readonly Row[]): Partial<NoticeChoice>[] {
  return rows
    .filter((each) => each.to.trim())
    .map(({ to, on, signingKey, waiting }) => {
      const recipient = to.trim();
      const late = on.includes("waiting") && waiting?.trim() ? { waiting: waiting.trim() } : {};
      if (isMail(recipient)) return { on: [...on], mail: [recipient], ...late };
      return { on: [...on], webhook: [recipient], ...(signingKey ? { signing_key: signingKey } : {}), ...late };
    });
}

/** An event as the command line has it. */
function eventOf(name: string, { waiting }: Row): string {
  return name === "waiting" && waiting?.trim() ? `${name}:${waiting.trim()}` : name;
}

export function lineOf(rows: readonly Row[]): string {
  const named = rows.filter((each) => each.to.trim());
  if (!named.length) return "ganglion notify off";
  const keys = [...new Set(named.map((each) => each.signingKey).filter(Boolean))];
  return [
    "ganglion notify set",
    ...named.map((each) => word(`${each.to.trim()}=${each.on.map((name) => eventOf(name, each)).join(",") || "EVENTS"}`)),
    ...(keys.length === 1 ? [`--signing-key ${word(keys[0] ?? "")}`] : []),
  ].join(" ");
}

/** What is wrong before it is sent; empty = nothing. */
export function wrongWith(rows: readonly Row[]): string {
  const empty = rows.find((each) => each.to.trim() && !each.on.length);
  return empty ? `Choose what ${empty.to.trim().slice(0, 60)} is sent.` : "";
}

/** What the server says is wrong, by the row that it is about. */
export function refusedIn(error: Error | null, rows: readonly Row[]): Map<number, string> {
  const sent = rows.flatMap((each, at) => (each.to.trim() ? [at] : []));
  const errors = error instanceof Problem ? error.errors : [];
  return new Map(
    errors.flatMap(({ key, detail, hint }) => {
      const at = sent[Number(/^items\[(\d+)\]/.exec(key)?.[1] ?? NaN)];
      return at === undefined ? [] : [[at, hint ? `${detail}: ${hint}` : detail] as const];
    }),
  );
}
