/** What is signed, which anchors have it, and how old what they lack is. */
import { useQuery } from "@tanstack/react-query";
import { anchors } from "../../api/reads";
import type { AnchorCopy, AnchorPage } from "../../api/schema";
import { count, duration, plural } from "../../ui/numbers";
import { Badge, Command, Failure, Name, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless } from "../../ui/text";
import { lacks } from "./said";

const COLUMNS: readonly PlainColumn<AnchorCopy>[] = [
  { key: "where", title: "Anchor", value: (row) => row.where, cell: (row) => <Name text={row.where} most={80} /> },
  { key: "state", title: "State", value: stateOf, cell: (row) => <Badge text={stateOf(row)} tone={TONES[stateOf(row)] ?? "calm"} /> },
  {
    key: "events",
    title: "Up to event",
    align: "end",
    value: (row) => row.events || null,
    cell: (row) => (row.events ? count(row.events) : "–"),
  },
  { key: "at", title: "Written", value: (row) => (row.at ? new Date(row.at).toISOString() : null), cell: (row) => <Time at={row.at} /> },
  { key: "behind", title: "Events since", align: "end", value: (row) => row.behind, cell: (row) => count(row.behind) },
  {
    key: "since",
    title: "Lacks events from",
    wide: true,
    value: (row) => (row.since ? new Date(row.since).toISOString() : null),
    cell: (row) => <Time at={row.since} />,
  },
  { key: "problem", title: "Why", wide: true, value: lacks, cell: (row) => harmless(lacks(row) || "–", 300) },
];

const TONES: Record<string, string> = { late: "bad", refuses: "wait", ok: "good" };

function stateOf(row: AnchorCopy): string {
  if (row.late) return "late";
  return row.problem ? "refuses" : row.events ? "ok" : "not yet";
}

export function Anchors() {
  const found = useQuery(anchors);
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return null;
  const page = found.data;
  const late = page.items.filter((each) => each.late);
  return (
    <section aria-label="Anchors">
      {page.late && (
        <p className="notice warn">
          <strong>{plural(page.unsigned, "event")} not signed</strong> since <Time at={page.unsigned_since} exact />, where{" "}
          {duration(page.signs_within)} is the limit. {harmless(page.problem, 500)}
        </p>
      )}
      {late.length > 0 && !page.late && (
        <p className="notice warn">
          <strong>
            {late.length === 1 ? "One anchor is" : `${late.length} anchors are`} late
          </strong>
          : they lack events that are older than {duration(page.late_after)}.
        </p>
      )}
      <details open={late.length > 0}>
        <summary>
          <Standing page={page} />
        </summary>
        {page.items.length > 0 && (
          <PlainTable label="Anchors" file="anchors" one="anchor" columns={COLUMNS} rows={page.items} id={(row) => row.where} />
        )}
        <Command line="ganglion audit anchors" />
      </details>
    </section>
  );
}

function Standing({ page }: { page: AnchorPage }) {
  const newest = page.items.reduce<AnchorCopy | null>((best, each) => (each.events > (best?.events ?? 0) ? each : best), null);
  if (!page.items.length) return <>No anchor: the owner of the server&apos;s home could rewrite all of it. audit.yaml names anchors.</>;
  if (!newest) return <>{plural(page.items.length, "anchor")}; this server has written to none yet</>;
  return (
    <>
      {plural(page.items.length, "anchor")}: the last checkpoint was written <Time at={newest.at} />,{" "}
      {newest.behind ? `${plural(newest.behind, "event")} since` : "no event since"}
    </>
  );
}
