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
] as const;

/** One recipient with its events. */
export interface Row {
  to: string;
  on: readonly string[];
  signingKey: string;
}

export const isMail = (to: string) => to.includes("@") && !to.includes("://");

export function rowsOf(items: readonly NoticeChoice[]): Row[] {
  return items.flatMap((each) => [
    ...each.mail.map((to) => ({ to, on: each.on, signingKey: "" })),
    ...each.webhook.map((to) => ({ to, on: each.on, signingKey: each.signing_key })),
  ]);
}

/** What is sent: rows without a recipient are left out. */
export function itemsOf(rows: readonly Row[]): Partial<NoticeChoice>[] {
  return rows
    .filter((each) => each.to.trim())
    .map(({ to, on, signingKey }) => {
      const recipient = to.trim();
      if (isMail(recipient)) return { on: [...on], mail: [recipient] };
      return { on: [...on], webhook: [recipient], ...(signingKey ? { signing_key: signingKey } : {}) };
    });
}

export function lineOf(rows: readonly Row[]): string {
  const named = rows.filter((each) => each.to.trim());
  if (!named.length) return "ganglion notify off";
  const keys = [...new Set(named.map((each) => each.signingKey).filter(Boolean))];
  return [
    "ganglion notify set",
    ...named.map((each) => word(`${each.to.trim()}=${each.on.join(",") || "EVENTS"}`)),
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
