/** Nodes and their GPUs: as a map, or as a list that says the same. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import { Button } from "react-aria-components";
import { get } from "../../api/client";
import { nodes, use } from "../../api/reads";
import type { NodeView } from "../../api/schema";
import { Drawing, useWidth, type Colors } from "../../ui/drawing";
import { gpus, plural } from "../../ui/numbers";
import { Command, Empty, Failure, Loading, Name } from "../../ui/parts";
import { Table } from "../../ui/table";
import { harmless } from "../../ui/text";
import { COLUMNS, SilentClusters } from "../nodes/nodes";
import { NodePanel } from "../nodes/panel";
import { draw, hit, hueColor, huesOf, layOut, redraw, standsAs, type Coloring, type Look, type MapLayout } from "./draw";
import { heatsOf, saidOf } from "./heat";

const route = getRouteApi("/fleet");

const COLORINGS: readonly { id: Coloring; title: string }[] = [
  { id: "use", title: "in use" },
  { id: "queue", title: "by queue" },
  { id: "health", title: "health" },
  { id: "block", title: "free blocks" },
  { id: "activity", title: "activity" },
  { id: "power", title: "power" },
];

export function FleetPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(nodes);
  const coloring = search.color ?? "use";
  const listed = search.view === "list";
  const { hues, colorOf } = useGangQueues(coloring === "queue" && !listed);
  const heats = useHeats(listed ? undefined : coloring);
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
      <SilentClusters items={items} />
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
                <Legend coloring={coloring} hues={hues} />
              </>
            )}
          </div>
          <div className={search.node ? "split" : ""}>
            <div>
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
                <FleetMap items={items} coloring={coloring} owner={colorOf} heats={heats} chosen={search.node} choose={(name) => set({ node: name })} />
              )}
              <Command line="ganglion nodes" />
            </div>
            {search.node && <NodePanel name={search.node} close={() => set({ node: undefined })} />}
          </div>
        </>
      )}
    </>
  );
}

const MOST_NAMED = 12;

function Legend({ coloring, hues }: { coloring: Coloring; hues: ReadonlyMap<string, number> }) {
  if (coloring === "queue")
    return (
      <p className="legend">
        <span><i className="free" /> free</span>
        {[...hues].slice(0, MOST_NAMED).map(([name, hue]) => (
          <span key={name}>
            <i style={{ background: hueColor(hue) }} /> <Name text={name} most={24} />
          </span>
        ))}
        {hues.size > MOST_NAMED && `and ${plural(hues.size - MOST_NAMED, "further queue")}`} <span><i className="other" /> closed</span> <span><i className="crossed" /> sick</span>
      </p>
    );
  if (coloring === "health")
    return (
      <p className="legend">
        <span><i className="free" /> healthy</span> <span><i className="bad crossed" /> sick</span>
      </p>
    );
  if (coloring === "block")
    return (
      <p className="legend">
        <span><i className="free" /> free, on a node that is free as a whole</span> <span><i className="part" /> free beside work</span>{" "}
        <span><i className="used" /> in use</span> <span><i className="crossed" /> sick</span>
      </p>
    );
  if (coloring === "activity" || coloring === "power")
    return (
      <p className="legend">
        <span><i className="used" /> as high as {coloring === "activity" ? "the part of the time in which it computes" : "the part of its power limit that it draws"};
        a dash where that is unknown</span> <span><i className="crossed" /> sick</span>
      </p>
    );
  return (
    <p className="legend">
      <span><i className="free" /> free</span> <span><i className="used" /> in use</span> <span><i className="other" /> closed</span> <span><i className="crossed" /> sick</span>
    </p>
  );
}

function FleetMap(props: {
  items: readonly NodeView[];
  coloring: Coloring;
  chosen: string | undefined;
  owner(gang: string): string;
  heats: ReadonlyMap<string, number>;
  choose(name: string): void;
}) {
  const { items, coloring, chosen, owner, heats, choose } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const layout = useMemo(() => layOut(items, Math.max(200, width)), [items, width]);
  const painted = useRef<{ layout: MapLayout; look: Look } | null>(null);
  const paint = useCallback(
    (context: CanvasRenderingContext2D, colors: Colors) => {
      const look: Look = { colors, coloring, chosen, queueColor: owner, heats };
      draw(context, layout, look);
      painted.current = { layout, look };
    },
    [layout, coloring, chosen, owner, heats],
  );
  const over = (context: CanvasRenderingContext2D) => {
    const before = painted.current;
    if (!before || !standsAs(before.layout, layout)) return false;
    const { look } = before;
    if (look.coloring !== coloring || look.chosen !== chosen || look.queueColor !== owner || look.heats !== heats) return false;
    redraw(context, before.layout, layout, look);
    painted.current = { layout, look };
    return true;
  };
  return (
    <div className="map" ref={box}>
      <Drawing
        width={width && layout.width}
        height={layout.height}
        label={`Map of ${items.length} nodes; the list says the same`}
        paint={paint}
        over={over}
        pick={(x, y) => {
          const found = hit(layout, x, y);
          if (found) choose(found.node.name);
        }}
        said={(x, y) => {
          const node = hit(layout, x, y)?.node;
          const at = node && saidOf(heats, node.name, node.devices.length);
          return node
            ? `${harmless(node.name, 100)}: ${node.state}, ${gpus(node.gpu_free_milli)} of ${gpus(node.gpu_total_milli)} GPUs free${at ? `; ${coloring} ${at}` : ""}`
            : "";
        }}
      />
    </div>
  );
}

const COLD: ReadonlyMap<string, number> = new Map();

/** How much GPUs do now, where the map shows that. */
function useHeats(coloring: Coloring | undefined): ReadonlyMap<string, number> {
  const heat = coloring === "activity" || coloring === "power" ? coloring : undefined;
  const found = useQuery({ ...use, enabled: heat !== undefined });
  return useMemo(() => (heat && found.data ? heatsOf(found.data.devices, heat) : COLD), [heat, found.data]);
}

/** The queue of each gang that holds something, where it is asked for. */
function useGangQueues(wanted: boolean): { hues: Map<string, number>; colorOf(gang: string): string } {
  const found = useQuery({
    queryKey: ["workloads", "running"],
    queryFn: ({ signal }) =>
      get("/workloads", {}, { state: ["RUNNING", "STARTING", "STOPPING"], limit: 1000 }, signal),
    enabled: wanted,
  });
  return useMemo(() => {
    const queues = new Map(found.data?.items.map((each) => [each.id, each.queue]));
    const hues = huesOf(queues.values());
    const colorOf = (gang: string) => {
      const hue = hues.get(queues.get(gang.replace(/\/\d+$/, "")) ?? "");
      return hue === undefined ? "" : hueColor(hue);
    };
    return { hues, colorOf };
  }, [found.data]);
}
