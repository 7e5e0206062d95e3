/** Queues of clusters whose schedulers deliver: rules and use, as these said last. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { clusters } from "../../api/reads";
import type { Amount, ClusterQueue } from "../../api/schema";
import { gpus } from "../../ui/numbers";
import { Command, Name, Silent } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { total } from "./tree";

export function ClusterQueues() {
  const found = useQuery(clusters);
  const listed = found.data?.items.filter((each) => each.queues.length) ?? [];
  return listed.map((cluster) => (
    <div key={cluster.name}>
      {cluster.silent_since > 0 && <Silent cluster={cluster.name} since={cluster.silent_since} />}
      <PlainTable
        label={`Queues of cluster ${cluster.name}`}
        caption={`Queues of cluster ${cluster.name}`}
        file={`queues-${cluster.name}`}
        one="queue"
        columns={COLUMNS}
        rows={cluster.queues}
        id={(row) => row.name}
      />
      <p className="quiet">What each deserves its scheduler knows, and changes are made there:</p>
      <Command line="kubectl get queues.ganglion.dev --context CONTEXT" label="There" />
    </div>
  ));
}

/** GPUs of a rule in words; null = the scheduler has not said it. */
export function ruled(amounts: Record<string, Amount> | null, none: string): string {
  if (!amounts) return "unknown";
  const sum = total(amounts);
  return sum === null ? none : gpus(sum);
}

const COLUMNS: readonly PlainColumn<ClusterQueue>[] = [
  {
    key: "queue",
    title: "Queue",
    value: (row) => row.name,
    cell: (row) => (
      <Link to="/queue" search={{ queue: row.name }}>
        <Name text={row.name} most={48} />
      </Link>
    ),
  },
  { key: "parent", title: "Below", wide: true, value: (row) => row.parent, cell: (row) => <Name text={row.parent || "–"} most={40} /> },
  { key: "used", title: "GPUs in use", align: "end", value: (row) => row.gpu_used_milli / 1000, cell: (row) => gpus(row.gpu_used_milli) },
  { key: "quota", title: "Quota", align: "end", value: (row) => ruled(row.quota, "none"), cell: (row) => ruled(row.quota, "none") },
  { key: "limit", title: "Limit", align: "end", wide: true, value: (row) => ruled(row.limit, "none"), cell: (row) => ruled(row.limit, "none") },
  { key: "running", title: "Run", align: "end", value: (row) => row.running, cell: (row) => row.running },
  { key: "waiting", title: "Wait", align: "end", value: (row) => row.waiting, cell: (row) => row.waiting },
];
