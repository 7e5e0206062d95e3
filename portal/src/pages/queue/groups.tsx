/** What waits, gathered by queue, user, reason or kind. */
import { useMemo } from "react";
import type { OrderItem } from "../../api/schema";
import { count } from "../../ui/numbers";
import { Name, Time } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";

export const GROUPS = ["queue", "user", "reason", "kind", "workload"] as const;
export type GroupBy = (typeof GROUPS)[number];

export interface Group {
  name: string;
  gangs: number;
  workloads: number;
  gpus: number;
  first: number | null;
  oldest: number;
  never: number;
}

export function gathered(rows: readonly OrderItem[], by: GroupBy): Group[] {
  const found = new Map<string, Group & { ids: Set<string> }>();
  for (const row of rows) {
    const name = row[by] || "not looked at yet";
    let group = found.get(name);
    if (!group) {
      group = { name, gangs: 0, workloads: 0, gpus: 0, first: null, oldest: row.submitted, never: 0, ids: new Set() };
      found.set(name, group);
    }
    group.gangs += 1;
    group.gpus += row.gpus;
    group.never += Number(row.never);
    group.ids.add(row.workload);
    if (row.position && (group.first === null || row.position < group.first)) group.first = row.position;
    if (row.submitted && row.submitted < group.oldest) group.oldest = row.submitted;
  }
  return [...found.values()].map(({ ids, ...each }) => ({ ...each, workloads: ids.size })).sort((a, b) => b.gangs - a.gangs);
}

const columns = (by: GroupBy): readonly Column<Group>[] => [
  { key: "name", title: `${by.slice(0, 1).toUpperCase()}${by.slice(1)}`, width: "minmax(8rem, 3fr)", value: (row) => row.name, cell: (row) => <Name text={row.name} most={80} /> },
  { key: "gangs", title: "Gangs", width: "6rem", align: "end", value: (row) => row.gangs, cell: (row) => count(row.gangs) },
  { key: "workloads", title: "Workloads", width: "7rem", align: "end", wide: true, value: (row) => row.workloads, cell: (row) => count(row.workloads) },
  { key: "gpus", title: "GPUs", width: "6rem", align: "end", value: (row) => row.gpus, cell: (row) => count(row.gpus) },
  { key: "first", title: "First place", width: "7rem", align: "end", wide: true, value: (row) => row.first, cell: (row) => row.first ?? "–" },
  { key: "never", title: "Can never start", width: "9rem", align: "end", wide: true, value: (row) => row.never, cell: (row) => row.never || "–" },
  {
    key: "oldest",
    title: "Oldest",
    width: "9rem",
    wide: true,
    value: (row) => new Date(row.oldest).toISOString(),
    cell: (row) => <Time at={row.oldest} />,
  },
];

export function Groups(props: {
  rows: readonly OrderItem[];
  by: GroupBy;
  sort: string | undefined;
  onSort(sort: string | undefined): void;
  open(name: string): void;
}) {
  const groups = useMemo(() => gathered(props.rows, props.by), [props.rows, props.by]);
  const shown = useMemo(() => columns(props.by), [props.by]);
  return (
    <Table
      label={`What waits, by ${props.by}`}
      file={`queue-by-${props.by}`}
      columns={shown}
      rows={groups}
      id={(row) => row.name}
      onOpen={(row) => props.open(row.name)}
      sort={props.sort}
      onSort={props.onSort}
    />
  );
}
