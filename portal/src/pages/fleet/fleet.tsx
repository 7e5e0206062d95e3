/** Nodes and their GPUs: as a map, or as a list that says the same. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import { Button } from "react-aria-components";
import { change, get, part } from "../../api/client";
import { node as readNode, nodes } from "../../api/reads";
import type { NodeView, Occupant } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Drawing, useWidth, type Colors } from "../../ui/drawing";
import { gpus, memory, plural } from "../../ui/numbers";
import { Badge, Command, Empty, Failure, Loading, Name, Time } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { domainOf, draw, hit, layOut, type Coloring } from "./draw";

const route = getRouteApi("/fleet");
const CORDONED = "from the portal";

const COLUMNS: readonly Column<NodeView>[] = [
  { key: "name", title: "Node", width: "minmax(8rem, 2fr)", value: (row) => row.name, cell: (row) => <Name text={row.name} most={60} /> },
  { key: "state", title: "State", width: "7rem", value: (row) => row.state, cell: (row) => <Badge text={row.state} /> },
  {
    key: "free",
    title: "GPUs free",
    width: "7rem",
    align: "end",
    value: (row) => row.gpu_free_milli / 1000,
    cell: (row) => `${gpus(row.gpu_free_milli)} of ${gpus(row.gpu_total_milli)}`,
  },
  { key: "flavor", title: "Flavor", width: "minmax(5rem, 1fr)", wide: true, value: (row) => row.flavor, cell: (row) => <Name text={row.flavor} most={40} /> },
  { key: "domain", title: "Domain", width: "minmax(6rem, 1fr)", wide: true, value: domainOf, cell: (row) => harmless(domainOf(row), 60) },
  { key: "memory", title: "Memory free", width: "8rem", align: "end", wide: true, value: (row) => row.memory_free_mib, cell: (row) => memory(row.memory_free_mib) },
  { key: "reason", title: "Why", width: "minmax(6rem, 2fr)", wide: true, value: (row) => row.reason, cell: (row) => harmless(row.reason, 160) },
];

const COLORINGS: readonly { id: Coloring; title: string }[] = [
  { id: "use", title: "in use" },
  { id: "queue", title: "by queue" },
  { id: "health", title: "health" },
];

export function FleetPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(nodes);
  const coloring = search.color ?? "use";
  const listed = search.view === "list";
  const set = (more: Partial<typeof search>) =>
    void go({ search: (was) => ({ ...was, ...more }), replace: true });
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the fleet" />;
  const items = found.data.items;
  const total = items.reduce((sum, each) => sum + each.devices.length, 0);
  const closed = items.filter((each) => each.state !== "ready").length;
  return (
    <>
      <h1>Fleet</h1>
      <p className="lead">
        {plural(items.length, "node")}, {plural(total, "GPU")}
        {closed > 0 && `; ${plural(closed, "node")} closed or lost`}
      </p>
      {!items.length ? (
        <Empty title="There are no nodes" />
      ) : (
        <>
          <div className="filters">
            <div className="choices" role="group" aria-label="View">
              <Button className="small" aria-pressed={!listed} onPress={() => set({ view: undefined })}>
                Map
              </Button>
              <Button className="small" aria-pressed={listed} onPress={() => set({ view: "list" })}>
                List
              </Button>
            </div>
            {!listed && (
              <>
                <label>
                  Colour
                  <select value={coloring} onChange={(event) => set({ color: event.target.value as Coloring })}>
                    {COLORINGS.map((each) => (
                      <option key={each.id} value={each.id}>
                        {each.title}
                      </option>
                    ))}
                  </select>
                </label>
                <Legend coloring={coloring} />
              </>
            )}
          </div>
          <div className={search.node ? "split" : ""}>
            {listed ? (
              <Table
                label="Nodes"
                file="nodes"
                columns={COLUMNS}
                rows={items}
                id={(row) => row.name}
                chosen={search.node}
                onOpen={(row) => set({ node: row.name })}
                sort={search.sort}
                onSort={(sort) => set({ sort })}
              />
            ) : (
              <FleetMap items={items} coloring={coloring} chosen={search.node} choose={(name) => set({ node: name })} />
            )}
            {search.node && <NodePanel name={search.node} close={() => set({ node: undefined })} />}
          </div>
          <Command line="ganglion nodes" />
        </>
      )}
    </>
  );
}

function Legend({ coloring }: { coloring: Coloring }) {
  if (coloring === "health")
    return (
      <p className="legend">
        <i className="free" /> healthy <i className="bad" /> sick (crossed)
      </p>
    );
  return (
    <p className="legend">
      <i className="free" /> free <i className={coloring === "use" ? "used" : "queue"} />{" "}
      {coloring === "use" ? "in use" : "a colour for each queue"}; dashed: closed; crossed: sick
    </p>
  );
}

function FleetMap(props: {
  items: readonly NodeView[];
  coloring: Coloring;
  chosen: string | undefined;
  choose(name: string): void;
}) {
  const { items, coloring, chosen, choose } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const layout = useMemo(() => layOut(items, Math.max(200, width)), [items, width]);
  const owner = useGangQueues(coloring === "queue");
  const paint = useCallback(
    (context: CanvasRenderingContext2D, colors: Colors) =>
      draw(context, layout, colors, coloring, chosen, owner),
    [layout, coloring, chosen, owner],
  );
  return (
    <div className="map" ref={box}>
      <Drawing
        width={width && layout.width}
        height={layout.height}
        label={`Map of ${items.length} nodes; the list says the same`}
        paint={paint}
        pick={(x, y) => {
          const found = hit(layout, x, y);
          if (found) choose(found.node.name);
        }}
        said={(x, y) => {
          const node = hit(layout, x, y)?.node;
          return node
            ? `${harmless(node.name, 100)}: ${node.state}, ${gpus(node.gpu_free_milli)} of ${gpus(node.gpu_total_milli)} GPUs free`
            : "";
        }}
      />
    </div>
  );
}

/** The queue of each gang that holds something, where it is asked for. */
function useGangQueues(wanted: boolean): (gang: string) => string {
  const found = useQuery({
    queryKey: ["workloads", "running"],
    queryFn: ({ signal }) =>
      get("/workloads", {}, { state: ["RUNNING", "STARTING", "STOPPING"], limit: 1000 }, signal),
    enabled: wanted,
  });
  return useMemo(() => {
    const by = new Map(found.data?.items.map((each) => [each.id, each.queue]));
    return (gang: string) => by.get(gang.replace(/\/\d+$/, "")) ?? "";
  }, [found.data]);
}

function NodePanel({ name, close }: { name: string; close(): void }) {
  const found = useQuery(readNode(name));
  const path = `/nodes/${part(name)}`;
  return (
    <aside className="side" aria-label="Node">
      <div className="side-head">
        <h2>
          <Name text={name} most={60} />
        </h2>
        <Button className="small plain" onPress={close}>
          Close
        </Button>
      </div>
      {found.error && <Failure error={found.error} />}
      {found.data && (
        <>
          <p>
            <Badge text={found.data.node.state} /> {harmless(found.data.node.reason, 300)}
          </p>
          <p>
            {gpus(found.data.node.gpu_free_milli)} of {gpus(found.data.node.gpu_total_milli)}{" "}
            {harmless(found.data.node.flavor, 40)} GPUs free; {memory(found.data.node.memory_free_mib)} memory free
            {domainOf(found.data.node) && `; ${harmless(domainOf(found.data.node), 80)}`}
          </p>
          <h3>On it</h3>
          <Occupants items={found.data.occupants} nothing="Nothing." />
          {found.data.awaiting.length > 0 && (
            <>
              <h3>Starts there once others have left</h3>
              <Occupants items={found.data.awaiting} nothing="" />
            </>
          )}
          <div className="buttons">
            {found.data.node.state === "ready" ? (
              <Confirm
                label="Cordon"
                title={`Start nothing new on ${harmless(name, 60)}?`}
                line={`ganglion cordon ${word(name)} --reason '${CORDONED}'`}
                act={() => change("POST", `${path}/cordon`, { reason: CORDONED })}
              >
                <p>What runs there runs on: {plural(found.data.occupants.length, "gang")}.</p>
              </Confirm>
            ) : (
              found.data.node.state === "cordoned" && (
                <Confirm
                  label="Uncordon"
                  title={`Let ${harmless(name, 60)} take work again?`}
                  line={`ganglion uncordon ${word(name)}`}
                  act={() => change("POST", `${path}/uncordon`)}
                />
              )
            )}
          </div>
        </>
      )}
      <Command line={`ganglion describe node ${word(name)}`} />
    </aside>
  );
}

function Occupants({ items, nothing }: { items: readonly Occupant[]; nothing: string }) {
  if (!items.length) return <p className="quiet">{nothing}</p>;
  return (
    <ul className="lines">
      {items.map((each) => (
        <li key={each.gang}>
          <Link to="/workloads/$ref" params={{ ref: each.gang.replace(/\/\d+$/, "") }}>
            <Name text={each.gang} most={60} />
          </Link>{" "}
          of <Name text={each.user} most={40} />, GPUs {each.devices.join(", ") || "none"}, since{" "}
          <Time at={each.since} />
        </li>
      ))}
    </ul>
  );
}
