/** Every checkpoint that is known of a workload. */
import { useState } from "react";
import type { WorkloadDetail } from "../../api/schema";
import { count, plural } from "../../ui/numbers";
import { Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless } from "../../ui/text";
import { checkpointsOf, type CheckpointRow } from "./marks";

const COLUMNS: readonly PlainColumn<CheckpointRow>[] = [
  { key: "at", title: "Saved", className: "path", value: (row) => new Date(row.mark.at).toISOString(), cell: (row) => <Time at={row.mark.at} /> },
  { key: "step", title: "Step", align: "end", value: (row) => row.mark.step || null, cell: (row) => (row.mark.step ? count(row.mark.step) : "–") },
  { key: "attempt", title: "Attempt", align: "end", value: (row) => row.mark.attempt || null, cell: (row) => row.mark.attempt || "–" },
  {
    key: "resumed",
    title: "Resumed by",
    value: (row) => row.resumed.join(" "),
    cell: (row) => (row.resumed.length ? `attempt ${row.resumed.join(", ")}` : "–"),
  },
  { key: "path", title: "Path", wide: true, className: "path", value: (row) => row.mark.path, cell: (row) => harmless(row.mark.path, 300) || "–" },
];
const GANG: PlainColumn<CheckpointRow> = { key: "gang", title: "Gang", align: "end", value: (row) => row.gang, cell: (row) => row.gang };

export function Checkpoints({ job }: { job: WorkloadDetail }) {
  const [open, setOpen] = useState(false);
  const rows = checkpointsOf(job);
  if (!rows.length) return null;
  const left = job.gangs.reduce((sum, each) => sum + each.life_left_out, 0);
  return (
    <details className="checkpoints" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{rows.length === 1 ? "The checkpoint" : `All ${plural(rows.length, "checkpoint")}`}</summary>
      {open && (
        <>
          <PlainTable
            label="Checkpoints"
            file={`${job.id}-checkpoints`}
            one="checkpoint"
            columns={job.gangs.length > 1 ? [GANG, ...COLUMNS] : COLUMNS}
            rows={rows}
            id={(row) => row.key}
          />
          <p className="quiet">
            As its programs reported them; how large each is, they do not say.
            {left > 0 && ` Of what happened to it, ${count(left)} older ${left === 1 ? "entry is" : "entries are"} not kept.`}
          </p>
        </>
      )}
    </details>
  );
}
