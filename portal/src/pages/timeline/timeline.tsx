/** Nodes and GPUs over time: what held them, holds them, and is planned on them. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { Button } from "react-aria-components";
import { bookings, drains, nodes, timeline } from "../../api/reads";
import type { BookingView, DrainView, TimelineSpan } from "../../api/schema";
import { useNow } from "../../ui/clock";
import { knownAs } from "../../ui/cluster_name";
import { Drawing, useWidth, type Colors } from "../../ui/drawing";
import { absolute, aheadOf, count, duration, plural, type Zone } from "../../ui/numbers";
import { Badge, Command, Empty, Failure, Loading, Name, Time } from "../../ui/parts";
import { RowLink } from "../../ui/row_link";
import { useSettings } from "../../ui/settings";
import { Table, type Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { ZOOMS, USUAL_ZOOM, rowsOf, sinceOf, type Window } from "./bars";
import { draw, hit, shapeOf } from "./draw";

const route = getRouteApi("/timeline");
/** Nodes that are drawn; the list has all of them. */
const MOST = 300;
const MINUTE = 60_000;
const WORDS: Record<string, string> = { run: "runs", promise: "promised", reservation: "reserved" };

export function TimelinePage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const set = (more: Partial<typeof search>) =>
    void go({ search: (was) => ({ ...was, ...more }), replace: true });
  const minute = Math.floor(useNow() / MINUTE) * MINUTE;
  const zoom = Math.min(ZOOMS.length - 1, search.zoom ?? USUAL_ZOOM);
  const length = ZOOMS[zoom] ?? ZOOMS[USUAL_ZOOM];
  // Unless it was moved, three quarters of what is seen are past.
  const begin = search.at ?? minute - 0.75 * length;
  const window = useMemo<Window>(() => ({ begin, end: begin + length }), [begin, length]);
  const fleet = useQuery(nodes);
  const found = useQuery(timeline(String(sinceOf(window))));
  const booked = useQuery(bookings);
  const drained = useQuery(drains);
  const wanted = search.text?.toLowerCase() ?? "";
  const listed = useMemo(
    () => fleet.data?.items.filter((each) => each.name.toLowerCase().includes(wanted)) ?? [],
    [fleet.data, wanted],
  );
  const spans = useMemo(
    () => found.data?.items.filter((each) => each.node.toLowerCase().includes(wanted)) ?? [],
    [found.data, wanted],
  );
  const rows = useMemo(
    () =>
      rowsOf(listed, spans, booked.data?.items ?? [], drained.data?.items ?? [], window, search.node).slice(0, MOST),
    [listed, spans, booked.data, drained.data, window, search.node],
  );
  const error = found.error ?? fleet.error;
  if (error && !found.data) return <Failure error={error} />;
  if (!found.data || !fleet.data) return <Loading what="the timeline" />;
  const move = (part: number) => set({ at: Math.round((begin + part * length) / MINUTE) * MINUTE });
  const scale = (to: number) => {
    const next = Math.max(0, Math.min(ZOOMS.length - 1, to));
    const wide = ZOOMS[next] ?? length;
    const middle = begin + length / 2;
    set({
      zoom: next === USUAL_ZOOM ? undefined : next,
      ...(search.at === undefined ? {} : { at: Math.round((middle - wide / 2) / MINUTE) * MINUTE }),
    });
  };
  const table = search.view === "list";
  const picked = spans.filter((each) => each.gang === search.gang);
  return (
    <>
      <h1>
        Timeline
        {search.node && (
          <>
            {" "}
            of <Name text={search.node} most={60} />
          </>
        )}
      </h1>
      <p className="lead">What held nodes and GPUs, holds them now, and is planned on them.</p>
      <div className="filters">
        <div className="choices" role="group" aria-label="View">
          <Button className="small" aria-pressed={!table} onPress={() => set({ view: undefined })}>
            Chart
          </Button>
          <Button className="small" aria-pressed={table} onPress={() => set({ view: "list" })}>
            List
          </Button>
        </div>
        <div className="choices" role="group" aria-label="What is seen">
          <Button className="small" onPress={() => move(-0.5)}>
            Earlier
          </Button>
          <Button className="small" isDisabled={search.at === undefined} onPress={() => set({ at: undefined })}>
            Now
          </Button>
          <Button className="small" onPress={() => move(0.5)}>
            Later
          </Button>
          <Button className="small" aria-label="Zoom in" isDisabled={zoom === 0} onPress={() => scale(zoom - 1)}>
            +
          </Button>
          <Button
            className="small"
            aria-label="Zoom out"
            isDisabled={zoom === ZOOMS.length - 1}
            onPress={() => scale(zoom + 1)}
          >
            −
          </Button>
          <span className="quiet" role="status">
            {duration(length)}
          </span>
        </div>
        <label>
          Node
          <select value={search.node ?? ""} onChange={(event) => set({ node: event.target.value || undefined })}>
            <option value="">all of them</option>
            {fleet.data.items.map((each) => (
              <option key={each.name} value={each.name}>
                GPUs of {harmless(each.name, 60)}
              </option>
            ))}
          </select>
        </label>
        {!search.node && (
          <label>
            Find a node
            <input
              type="search"
              value={search.text ?? ""}
              onChange={(event) => set({ text: event.target.value || undefined })}
            />
          </label>
        )}
      </div>
      {found.data.left_out && (
        <p className="notice warn">There is more than can be read at once: the oldest of it is left out. Zoom in.</p>
      )}
      {!fleet.data.items.length && !spans.length ? (
        <Empty title="There are no nodes">
          <p>Nodes appear here as soon as they join.</p>
        </Empty>
      ) : table ? (
        <List
          spans={spans}
          bookings={booked.data?.items ?? []}
          drains={drained.data?.items ?? []}
          window={window}
          node={search.node}
          sort={search.sort}
          set={set}
        />
      ) : (
        <>
          <Chart rows={rows} window={window} gang={search.gang} set={set} move={move} scale={(by) => scale(zoom + by)} />
          <Key />
          {listed.length > MOST && !search.node && (
            <p className="quiet">
              {count(MOST)} of {plural(listed.length, "node")} are drawn: find one, or look at the list.
            </p>
          )}
          {picked.length > 0 && <Picked spans={picked} close={() => set({ gang: undefined })} />}
        </>
      )}
      {search.node && <Command line={`ganglion describe node ${word(search.node)}`} />}
      <Command line="ganglion audit placement --since 24h" label="Places of the past on the command line" />
    </>
  );
}

function Chart(props: {
  rows: ReturnType<typeof rowsOf>;
  window: Window;
  gang: string | undefined;
  set(more: { gang?: string | undefined; node?: string | undefined }): void;
  move(part: number): void;
  scale(by: number): void;
}) {
  const { rows, window, gang, set, move, scale } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const { zone } = useSettings();
  const now = Math.floor(useNow() / 5_000) * 5_000;
  const shape = useMemo(() => shapeOf(rows, Math.max(320, width)), [rows, width]);
  const paint = useCallback(
    (context: CanvasRenderingContext2D, colors: Colors) => {
      const shift = aheadOf(window.begin, zone);
      draw(context, rows, shape, { window, now, shift, chosen: gang }, colors);
    },
    [rows, shape, window, now, gang, zone],
  );
  const pressed = (event: KeyboardEvent) => {
    const acts: Record<string, () => void> = {
      ArrowLeft: () => move(-0.25),
      ArrowRight: () => move(0.25),
      "+": () => scale(-1),
      "-": () => scale(1),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  return (
    <div
      className="gantt"
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Chart: arrow keys move it, + and - zoom"
      onKeyDown={pressed}
    >
      <Drawing
        width={width && shape.width}
        height={shape.height}
        label={`Timeline of ${plural(rows.length, "row")}; the list says the same`}
        paint={paint}
        pick={(x, y) => {
          const found = hit(rows, shape, window, x, y);
          if (found?.bar) set({ gang: found.bar.span.gang });
          else if (found && x < shape.gutter && !found.row.name.startsWith("GPU ")) set({ node: found.row.name });
        }}
        said={(x, y) => {
          const found = hit(rows, shape, window, x, y);
          if (found?.bar) return title(found.bar.span, now, zone);
          return found && x < shape.gutter ? harmless(found.row.name, 100) : "";
        }}
      />
    </div>
  );
}

function title(span: TimelineSpan, now: number, zone: Zone): string {
  const end = span.end === null ? "no known end" : absolute(span.end, now, zone);
  const ahead = span.ahead_of ? ` ahead of ${harmless(knownAs(span.ahead_of), 80)}` : "";
  return `${harmless(knownAs(span.gang), 80)} of ${harmless(span.user, 40)}: ${WORDS[span.kind]}${ahead}, ${absolute(span.begin, now, zone)} to ${span.open ? "now, at the latest " : ""}${end}`;
}

const KEY: readonly (readonly [string, string])[] = [
  ["queue", "held, a colour for each queue"],
  ["queue pale", "what is left of its time limit"],
  ["queue backfill", "backfill: started ahead of older work that has a place reserved"],
  ["dashed", "reserved: shorter work may run before it"],
  ["dotted", "promised, once others have left"],
  ["hatched", "booked"],
  ["hatched drain", "drained"],
  ["now", "now"],
];

function Key() {
  return (
    <ul className="legend gantt-key" aria-label="Key">
      {KEY.map(([icon, text]) => (
        <li key={text}>
          <i className={icon} /> {text}
        </li>
      ))}
    </ul>
  );
}

function Picked({ spans, close }: { spans: readonly TimelineSpan[]; close(): void }) {
  const [first] = spans;
  if (!first) return null;
  return (
    <section className="side still" aria-label="Chosen">
      <div className="side-head">
        <h2>
          <Link to="/workloads/$ref" params={{ ref: first.workload }}>
            <Name text={knownAs(first.gang)} most={60} />
          </Link>
        </h2>
        <Button className="small plain" onPress={close}>
          Close
        </Button>
      </div>
      <p>
        of <Name text={first.user} most={60} /> in queue <Name text={first.queue} most={60} />
      </p>
      <ul className="lines">
        {spans.slice(0, 50).map((each, n) => (
          <li key={n}>
            <Badge text={WORDS[each.kind] ?? each.kind} tone={each.open ? "good" : "calm"} />{" "}
            {each.attempt > 0 && `attempt ${each.attempt} `}on <Name text={each.node} most={60} />
            {each.milli > 0 && `, ${plural(each.milli / 1000, "GPU")}`}, from <Time at={each.begin} exact />
            {each.end !== null && (
              <>
                {" "}
                to {each.open && "at the latest "}
                <Time at={each.end} exact />
              </>
            )}
            {each.ahead_of && <Ahead gang={each.ahead_of} />}
            {each.guess && <span className="quiet"> a guess: the place is kept until it is free</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Whom backfill went ahead of. */
function Ahead({ gang }: { gang: string }) {
  return (
    <span>
      ; backfill: it started ahead of{" "}
      <Link to="/workloads/$ref" params={{ ref: gang.includes(":") ? gang : gang.replace(/\/\d+$/, "") }}>
        <Name text={knownAs(gang)} most={60} />
      </Link>
      , which was submitted earlier and had a place and a time reserved
    </span>
  );
}

interface Entry {
  id: string;
  node: string;
  what: string;
  name: string;
  workload: string;
  queue: string;
  user: string;
  gpus: number | null;
  begin: number;
  end: number | null;
}

const COLUMNS: readonly Column<Entry>[] = [
  { key: "node", title: "Node", width: "minmax(6rem, 1fr)", narrow: "minmax(5.5rem, 1fr)", value: (row) => row.node, cell: (row) => <Name text={row.node} most={48} /> },
  { key: "what", title: "What", width: "6rem", narrow: "5.75rem", value: (row) => row.what, cell: (row) => row.what },
  {
    key: "name",
    title: "Whose",
    width: "minmax(10rem, 2fr)",
    narrow: "1fr",
    under: 1,
    value: (row) => row.name,
    cell: (row) =>
      row.workload ? (
        <RowLink job={row.workload}>
          <Name text={row.name} most={60} />
        </RowLink>
      ) : (
        <Name text={row.name} most={60} />
      ),
  },
  { key: "queue", title: "Queue", width: "minmax(5rem, 1fr)", wide: true, value: (row) => row.queue, cell: (row) => <Name text={row.queue || "–"} most={40} /> },
  { key: "user", title: "User", width: "minmax(5rem, 1fr)", roomy: true, value: (row) => row.user, cell: (row) => <Name text={row.user || "–"} most={40} /> },
  { key: "gpus", title: "GPUs", width: "4.5rem", wide: true, align: "end", value: (row) => row.gpus, cell: (row) => row.gpus ?? "–" },
  {
    key: "begin",
    title: "From",
    width: "7.5rem",
    narrow: "7.5rem",
    value: (row) => new Date(row.begin).toISOString(),
    cell: (row) => <Time at={row.begin} />,
  },
  {
    key: "end",
    title: "To",
    width: "7.5rem",
    wide: true,
    value: (row) => (row.end === null ? null : new Date(row.end).toISOString()),
    cell: (row) => <Time at={row.end} />,
  },
];

function List(props: {
  spans: readonly TimelineSpan[];
  bookings: readonly BookingView[];
  drains: readonly DrainView[];
  window: Window;
  node: string | undefined;
  sort: string | undefined;
  set(more: { sort?: string | undefined; gang?: string | undefined; view?: "list" | undefined }): void;
}) {
  const { spans, window, node, sort, set } = props;
  const rows = useMemo(() => entries(props.spans, props.bookings, props.drains, window, node), [
    props.spans,
    props.bookings,
    props.drains,
    window,
    node,
  ]);
  const [at, setAt] = useState("");
  if (!rows.length)
    return (
      <Empty title="Nothing holds a node in this time">
        <p>
          Zoom out, or <Link to="/submit">submit a workload</Link>.
        </p>
      </Empty>
    );
  return (
    <Table
      label={`What holds nodes, ${plural(spans.length, "span")}`}
      file="timeline"
      columns={COLUMNS}
      rows={rows}
      id={(row) => row.id}
      chosen={at}
      onOpen={(row) => setAt(row.id)}
      sort={sort}
      onSort={(wanted) => set({ sort: wanted })}
    />
  );
}

function ran(span: TimelineSpan): string {
  if (span.ahead_of) return "backfill";
  return span.open ? "runs" : "ran";
}

/** What a list has of a window: what is held and planned, bookings and drains. */
export function entries(
  spans: readonly TimelineSpan[],
  booked: readonly BookingView[],
  drained: readonly DrainView[],
  window: Window,
  node: string | undefined,
): Entry[] {
  const none = { workload: "", queue: "", user: "", gpus: null };
  const rows: Entry[] = [
    ...spans.map((each) => ({
      id: `${each.kind}/${each.gang}/${each.attempt}/${each.node}/${each.begin}`,
      node: each.node,
      what: each.kind === "run" ? ran(each) : (WORDS[each.kind] ?? each.kind),
      name: knownAs(each.gang),
      workload: each.workload,
      queue: each.queue,
      user: each.user,
      gpus: each.milli / 1000,
      begin: each.begin,
      end: each.end,
    })),
    ...booked
      .filter((each) => !each.name.startsWith("drain-"))
      .flatMap((each) =>
        each.nodes.map((name) => ({
          ...none,
          id: `booking/${each.name}/${name}`,
          node: name,
          what: "booked",
          name: each.name,
          queue: each.queues.join(", "),
          user: each.users.join(", "),
          begin: each.begin,
          end: each.end,
        })),
      ),
    ...drained.flatMap((each) =>
      each.nodes.map((name) => ({
        ...none,
        id: `drain/${each.what}/${name}`,
        node: name,
        what: "drained",
        name: each.what,
        begin: each.by,
        end: null,
      })),
    ),
  ];
  return rows.filter(
    (each) =>
      each.begin < window.end &&
      (each.end ?? Infinity) > window.begin &&
      (node === undefined || each.node === node),
  );
}
