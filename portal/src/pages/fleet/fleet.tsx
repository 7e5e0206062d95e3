/** Nodes and their GPUs: as a map, or as a list that says the same. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { Button } from "react-aria-components";
import { get } from "../../api/client";
import { nodes } from "../../api/reads";
import type { NodeView } from "../../api/schema";
import { gpus, plural } from "../../ui/numbers";
import { Command, Empty, Failure, Loading } from "../../ui/parts";
import { useSettings } from "../../ui/settings";
import { Table } from "../../ui/table";
import { harmless } from "../../ui/text";
import { COLUMNS } from "../nodes/nodes";
import { NodePanel } from "../nodes/panel";
import { draw, hit, layOut, type Coloring, type Colors } from "./draw";

const route = getRouteApi("/fleet");

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

/** The tokens of the present theme, for a canvas. */
function colorsOf(element: HTMLElement): Colors {
  const style = getComputedStyle(element);
  const read = (name: string) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    element.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found || style.color;
  };
  return {
    line: read("--line"),
    text: read("--text"),
    quiet: read("--quiet"),
    surface: read("--surface"),
    free: read("--free"),
    used: read("--accent-fill"),
    part: read("--wait"),
    bad: read("--bad"),
    closed: read("--wait"),
    chosen: read("--focus"),
  };
}

function FleetMap(props: {
  items: readonly NodeView[];
  coloring: Coloring;
  chosen: string | undefined;
  choose(name: string): void;
}) {
  const { items, coloring, chosen, choose } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const { theme } = useSettings();
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const layout = useMemo(() => layOut(items, Math.max(200, width)), [items, width]);
  const owner = useGangQueues(coloring === "queue");
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !width) return;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const paint = () => {
      const scale = devicePixelRatio || 1;
      element.width = Math.round(layout.width * scale);
      element.height = Math.round(layout.height * scale);
      element.style.width = `${layout.width}px`;
      element.style.height = `${layout.height}px`;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      draw(context, layout, colorsOf(element.parentElement ?? element), coloring, chosen, owner);
    };
    const frame = requestAnimationFrame(paint);
    dark.addEventListener("change", paint);
    return () => {
      cancelAnimationFrame(frame);
      dark.removeEventListener("change", paint);
    };
  }, [layout, coloring, chosen, theme, width, owner]);
  const spot = (event: React.MouseEvent) => {
    const at = canvas.current?.getBoundingClientRect();
    return at ? hit(layout, event.clientX - at.left, event.clientY - at.top) : undefined;
  };
  return (
    <div className="map" ref={box}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Map of ${items.length} nodes; the list says the same`}
        onClick={(event) => {
          const found = spot(event);
          if (found) choose(found.node.name);
        }}
        onMouseMove={(event) => {
          const found = spot(event);
          event.currentTarget.style.cursor = found ? "pointer" : "default";
          event.currentTarget.title = found
            ? `${harmless(found.node.name, 100)}: ${found.node.state}, ${gpus(found.node.gpu_free_milli)} of ${gpus(found.node.gpu_total_milli)} GPUs free`
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
