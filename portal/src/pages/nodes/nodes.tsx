/** Nodes as a list: health, why one is closed, and what drains. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { drains, nodes } from "../../api/reads";
import type { NodeView } from "../../api/schema";
import { gpus, memory, plural } from "../../ui/numbers";
import { Badge, Empty, Name, Silent, Time } from "../../ui/parts";
import { Listing } from "../../ui/listing";
import type { Column } from "../../ui/table";
import { harmless } from "../../ui/text";
import { domainOf } from "../fleet/draw";
import { NodePanel } from "./panel";
import { stateOf } from "./state";

const route = getRouteApi("/nodes");

export const sick = (node: NodeView) => node.devices.filter((each) => !each.healthy).length;

export const COLUMNS: readonly Column<NodeView>[] = [
  {
    key: "name",
    title: "Node",
    width: "minmax(8rem, 1.5fr)",
    narrow: "minmax(5rem, 1fr)",
    value: (row) => row.name,
    cell: (row) => <Name text={row.name} most={60} />,
  },
  { key: "state", title: "State", width: "8.75rem", narrow: "8.25rem", value: stateOf, cell: (row) => <Badge text={stateOf(row)} /> },
  {
    key: "free",
    title: "GPUs free",
    width: "7rem",
    narrow: "6rem",
    align: "end",
    value: (row) => row.gpu_free_milli / 1000,
    cell: (row) => `${gpus(row.gpu_free_milli)} of ${gpus(row.gpu_total_milli)}`,
  },
  {
    key: "sick",
    title: "Sick",
    width: "4.5rem",
    narrow: "3.5rem",
    align: "end",
    value: sick,
    cell: (row) => (sick(row) ? <Badge text={String(sick(row))} tone="bad" /> : "–"),
  },
  {
    key: "flavor",
    title: "Flavor",
    width: "minmax(4rem, 0.7fr)",
    wide: true,
    value: (row) => row.flavor,
    cell: (row) => <Name text={row.flavor} most={40} />,
  },
  {
    key: "domain",
    title: "Domain",
    width: "minmax(8.5rem, 1fr)",
    wide: true,
    value: domainOf,
    cell: (row) => harmless(domainOf(row) || "–", 60),
  },
  {
    key: "memory",
    title: "Memory free",
    width: "7rem",
    align: "end",
    roomy: true,
    value: (row) => row.memory_free_mib,
    cell: (row) => (row.cluster ? "–" : memory(row.memory_free_mib)),
  },
  {
    key: "reason",
    title: "Why",
    width: "minmax(6rem, 2fr)",
    wide: true,
    value: (row) => row.reason,
    cell: (row) => <span title={harmless(row.reason, 1000)}>{harmless(row.reason || "–", 160)}</span>,
  },
];

/** Clusters whose nodes are as they were when their schedulers were heard of last. */
export function SilentClusters({ items }: { items: readonly NodeView[] }) {
  const silent = new Map(items.flatMap((each) => (each.silent_since ? [[each.cluster, each.silent_since]] : [])));
  return [...silent].map(([cluster, since]) => <Silent key={cluster} cluster={cluster} since={since} />);
}

export function NodesPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(nodes);
  const rows = found.data?.items;
  const set = (more: Partial<typeof search>) => void go({ search: (was) => ({ ...was, ...more }), replace: true });
  const ready = rows?.filter((each) => each.state === "ready").length ?? 0;
  return (
    <>
      <SilentClusters items={rows ?? []} />
      <Listing
        title="Nodes"
        lead={
          rows
            ? `${plural(rows.length, "node")}, ${ready} ready; ${plural(rows.reduce((sum, each) => sum + sick(each), 0), "sick GPU")}. Choose a node to close, drain or open it.`
            : ""
        }
        file="nodes"
        rows={rows}
        error={found.error}
        columns={COLUMNS}
        id={(row) => row.name}
        words={(row) => [row.name, row.flavor, row.reason, ...Object.values(row.domains)]}
        state={stateOf}
        search={search}
        set={set}
        line="ganglion nodes -o wide"
        empty={
          <Empty title="There are no nodes">
            <p>A server on one machine has that machine; schedulers of clusters that deliver say which nodes these have.</p>
          </Empty>
        }
        panel={search.at && <NodePanel name={search.at} close={() => set({ at: undefined })} />}
        actions={
          <Link to="/fleet" className="button small">
            See them on the map
          </Link>
        }
      />
      <Drains open={(node) => set({ at: node })} />
    </>
  );
}

function Drains({ open }: { open(node: string): void }) {
  const found = useQuery(drains);
  if (!found.data?.items.length) return null;
  return (
    <section aria-label="Drains">
      <h2>Drains</h2>
      <ul className="lines">
        {found.data.items.map((each) => (
          <li key={each.what}>
            <button type="button" className="small" onClick={() => open(each.nodes[0] ?? each.what)}>
              <Name text={each.what} most={60} />
            </button>{" "}
            {plural(each.nodes.length, "node")}, to be empty <Time at={each.by} exact />: {harmless(each.reason, 160)};{" "}
            {each.leavers.length ? `${plural(each.leavers.length, "gang")} still there` : "empty"}
          </li>
        ))}
      </ul>
    </section>
  );
}
