/** What later attempts of a workload were asked for otherwise than earlier ones. */
import type { WorkloadDetail } from "../../api/schema";
import { Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless } from "../../ui/text";
import { clusterOf } from "./gang_choice";
import { differencesOf, nameOf, valueOf, type DifferenceRow } from "./marks";

const COLUMNS: readonly PlainColumn<DifferenceRow>[] = [
  { key: "what", title: "What", value: (row) => nameOf(row.change), cell: (row) => harmless(nameOf(row.change), 100) },
  {
    key: "before",
    title: "Before",
    className: "path",
    value: (row) => row.change.before,
    cell: (row) => harmless(valueOf(row.change.name, row.change.before), 300),
  },
  {
    key: "after",
    title: "Since then",
    className: "path",
    value: (row) => row.change.after,
    cell: (row) => harmless(valueOf(row.change.name, row.change.after), 300),
  },
  { key: "at", title: "Changed", value: (row) => new Date(row.at).toISOString(), cell: (row) => <Time at={row.at} /> },
  {
    key: "attempt",
    title: "After",
    wide: true,
    value: (row) => row.attempt,
    cell: (row) => (row.attempt ? `attempt ${row.attempt} was placed` : "it was submitted"),
  },
  { key: "why", title: "Why", wide: true, value: (row) => row.why, cell: (row) => harmless(row.why, 200) || "–" },
];
const GANG: PlainColumn<DifferenceRow> = { key: "gang", title: "Gang", align: "end", value: (row) => row.gang, cell: (row) => row.gang };

export function Differences({ job }: { job: WorkloadDetail }) {
  const rows = differencesOf(job);
  const attempts = Math.max(0, ...job.gangs.map((each) => each.attempt));
  if (!rows.length && attempts < 2) return null;
  return (
    <section>
      <h3>Differences between its attempts</h3>
      {rows.length > 0 ? (
        <PlainTable
          label="What was changed"
          file={`${job.id}-changes`}
          one="change"
          columns={job.gangs.length > 1 ? [GANG, ...COLUMNS] : COLUMNS}
          rows={rows}
          id={(row) => row.key}
        />
      ) : (
        <p>None is known.</p>
      )}
      <p className="quiet">
        {clusterOf(job)
          ? "As its scheduler reports them, which says nothing of commands and environments."
          : "Command, image, environment and resources of a workload stay what they were when it was submitted."}
      </p>
    </section>
  );
}
