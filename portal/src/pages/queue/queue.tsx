/** Everything that waits, in the order in which it is decided about. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { Button } from "react-aria-components";
import { order } from "../../api/reads";
import type { OrderItem } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Choice, Select, counted } from "../../ui/fields";
import { Badge, Command, Empty, Failure, Loading, Name, Silent, Time } from "../../ui/parts";
import { RowLink } from "../../ui/row_link";
import { Table, type Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { WhyPanel } from "../workload/why";
import { Bulk } from "./bulk";
import { GROUPS, Groups, type GroupBy } from "./groups";
import { StartText, startColumn, useStarts, type Starts } from "./starts";
import { QUEUE, USER } from "../../ui/work_columns";

const route = getRouteApi("/queue");

const FIRST: readonly Column<OrderItem>[] = [
  {
    key: "position",
    title: "#",
    width: "3.5rem",
    narrow: "2.75rem",
    align: "end",
    value: (row) => row.position || null,
    cell: (row) => row.position || "–",
  },
  {
    key: "gang",
    title: "Workload",
    width: "minmax(11rem, 1.5fr)",
    narrow: "minmax(9rem, 1.4fr)",
    value: (row) => row.gang,
    cell: (row) => (
      <RowLink job={row.workload}>
        <Name text={row.gang.endsWith("/0") ? row.workload : row.gang} most={64} />
      </RowLink>
    ),
  },
];

const reasonColumn = (starts: Starts): Column<OrderItem> => ({
  key: "reason",
  title: "Waits for",
  width: "minmax(10rem, 5fr)",
  narrow: "minmax(8rem, 4fr)",
  under: 3,
  value: (row) => (row.message ? `${row.reason}: ${row.message}` : row.reason),
  cell: (row) => (
    <span title={harmless(row.message, 1000)}>
      {!row.never && (
        <span className="phone-line">
          starts within <StartText row={row} starts={starts} />
        </span>
      )}
      {row.reason && (
        <Badge
          text={row.silent_since ? `was ${row.reason}` : row.reason}
          tone={row.silent_since ? "calm" : row.never ? "bad" : "wait"}
        />
      )}{" "}
      {row.never ? "never: " : ""}
      {harmless(row.message || (row.cluster ? (row.reason ? "" : "unknown") : "not looked at yet"), 200)}
    </span>
  ),
});

const LAST: readonly Column<OrderItem>[] = [
  {
    key: "gpus",
    title: "GPUs",
    width: "4.5rem",
    narrow: "4rem",
    align: "end",
    value: (row) => row.gpus,
    cell: (row) => row.gpus,
  },
  { ...QUEUE, width: "minmax(5rem, 0.8fr)", roomy: true },
  { ...USER, width: "minmax(4rem, 0.8fr)", roomy: true },
  {
    key: "priority",
    title: "Priority",
    width: "4.75rem",
    align: "end",
    roomy: true,
    value: (row) => row.priority,
    cell: (row) => row.priority,
  },
  {
    key: "submitted",
    title: "Submitted",
    width: "7rem",
    roomy: true,
    value: (row) => (row.submitted ? new Date(row.submitted).toISOString() : null),
    cell: (row) => <Time at={row.submitted} />,
  },
];

function markColumn(marked: ReadonlySet<string>, toggle: (id: string) => void): Column<OrderItem> {
  return {
    key: "",
    title: "",
    width: "2.25rem",
    value: () => null,
    cell: (row) => (
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={`Choose ${harmless(row.workload, 60)}`}
        disabled={Boolean(row.cluster)}
        title={row.cluster && "what lives in a cluster is changed there"}
        checked={marked.has(row.workload)}
        onChange={() => toggle(row.workload)}
      />
    ),
  };
}

/** What shows the rows of one group. */
function filterOf(by: GroupBy, name: string): QueueFilter {
  return by === "workload" ? { text: name } : { [by]: name };
}

export interface QueueFilter {
  kind?: string | undefined;
  text?: string | undefined;
  reason?: string | undefined;
  queue?: string | undefined;
  user?: string | undefined;
}

export function fits(row: OrderItem, want: QueueFilter): boolean {
  const text = want.text?.toLowerCase();
  return (
    (!want.reason || row.reason === want.reason) &&
    (!want.queue || row.queue === want.queue) &&
    (!want.user || row.user === want.user) &&
    (!want.kind || row.kind === want.kind) &&
    (!text || [row.gang, row.queue, row.user, row.message].some((each) => each.toLowerCase().includes(text)))
  );
}

/** Clusters whose schedulers are silent, each with since when. */
export function silentOf(rows: readonly OrderItem[]): Map<string, number> {
  return new Map(rows.flatMap((row) => (row.silent_since ? [[row.cluster, row.silent_since] as const] : [])));
}

function command(want: QueueFilter): string {
  const parts = ["ganglion queue"];
  if (want.queue) parts.push(`--queue ${word(want.queue)}`);
  if (want.user) parts.push(`--user ${word(want.user)}`);
  return parts.join(" ");
}

export function QueuePage() {
  const { me } = useVisitor();
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(order);
  const { text, reason, queue, mine, sort, job, group, kind } = search;
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const user = mine ? me.user : search.user;
  const rows = useMemo(
    () => found.data?.items.filter((row) => fits(row, { text, reason, queue, user, kind })) ?? [],
    [found.data, text, reason, queue, user, kind],
  );
  const waiting = useMemo(() => [...new Set(rows.filter((row) => !row.cluster).map((row) => row.workload))], [rows]);
  const silent = useMemo(() => silentOf(found.data?.items ?? []), [found.data]);
  const away = useMemo(() => found.data?.items.some((row) => row.cluster), [found.data]);
  const here = useMemo(() => new Set(found.data?.items.map((row) => row.workload)), [found.data]);
  // What has started or ended meanwhile is no longer chosen.
  const chosen = useMemo(() => new Set([...marked].filter((each) => here.has(each))), [marked, here]);
  const toggle = useCallback((id: string) => {
    setMarked((was) => {
      const next = new Set(was);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const { starts, see } = useStarts();
  const columns = useMemo(
    () => [markColumn(chosen, toggle), ...FIRST, reasonColumn(starts), startColumn(starts), ...LAST],
    [chosen, toggle, starts],
  );
  const reasons = useMemo(() => counted(found.data?.items ?? [], (row) => row.reason), [found.data]);
  const names = useMemo(() => counted(found.data?.items ?? [], (row) => row.queue), [found.data]);
  const set = (more: Partial<typeof search>) =>
    void go({ search: (was) => ({ ...was, ...more }), replace: true });

  const line = <Command line={command({ queue, user })} />;
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the queue" />;
  return (
    <>
      <h1>Queue</h1>
      <p className="lead">
        What waits, in the order in which it is decided about. Each waits for one reason; choose a row to
        see what would help.{" "}
        {away && "What waits in clusters comes last, each numbered as its own scheduler decides; only the first of them have a number."}
      </p>
      {[...silent].map(([cluster, since]) => (
        <Silent key={cluster} cluster={cluster} since={since} />
      ))}
      {found.data.total === 0 ? (
        <Empty title="Nothing waits">
          <p>Whatever is submitted now and fits starts at once.</p>
          <p>
            <Link to="/submit" className="button primary">
              Submit a workload
            </Link>
          </p>
        </Empty>
      ) : (
        <>
          <div className="filters" role="search">
            <label>
              Find
              <input
                type="search"
                value={text ?? ""}
                placeholder="name, user, reason"
                onChange={(event) => set({ text: event.target.value || undefined })}
              />
            </label>
            <Choice label="Waits for" value={reason} counts={reasons} set={(each) => set({ reason: each })} />
            <Choice label="Queue" value={queue} counts={names} set={(each) => set({ queue: each })} />
            <label className="check">
              <input
                type="checkbox"
                checked={mine ?? false}
                onChange={(event) => set({ mine: event.target.checked || undefined })}
              />
              Only mine
            </label>
            {search.user && !mine && (
              <Choice
                label="User"
                value={search.user}
                counts={counted(found.data.items, (row) => row.user)}
                set={(each) => set({ user: each })}
              />
            )}
            {kind && (
              <Choice
                label="Kind"
                value={kind}
                counts={counted(found.data.items, (row) => row.kind)}
                set={(each) => set({ kind: each })}
              />
            )}
            <Select
              label="Group by"
              value={group ?? ""}
              set={(each) => set({ group: (each || undefined) as GroupBy | undefined, job: undefined, sort: undefined })}
              options={[["", "nothing"], ...GROUPS.map((each) => [each, each] as const)]}
            />
            {(text || reason || queue || mine || sort || group || search.user || kind) && (
              <Button className="small plain" onPress={() => void go({ search: job ? { job } : {} })}>
                Clear
              </Button>
            )}
          </div>
          {group ? (
            <Groups
              rows={rows}
              by={group}
              sort={sort}
              onSort={(each) => set({ sort: each })}
              open={(name) => set({ group: undefined, sort: undefined, ...filterOf(group, name) })}
            />
          ) : (
            <Bulk shown={waiting} marked={chosen} mark={(ids) => setMarked(new Set(ids))} />
          )}
          {!group && (<div className={job ? "split" : ""}>
            <div>
              <Table
                label="Everything that waits"
                file="queue"
                columns={columns}
                rows={rows}
                onMark={(row) => row.cluster || toggle(row.workload)}
                id={(row) => row.gang}
                chosen={job}
                onOpen={(row) => set({ job: row.gang })}
                sort={sort}
                onSort={(each) => set({ sort: each })}
                onSeen={see}
              />
              {line}
            </div>
            {job && (
              <aside className="side" aria-label="Why it waits">
                <div className="side-head">
                  <h2>
                    <Link to="/workloads/$ref" params={{ ref: job.replace(/\/\d+$/, "") }}>
                      <Name text={job} most={60} />
                    </Link>
                  </h2>
                  <Button className="small plain" onPress={() => set({ job: undefined })}>
                    Close
                  </Button>
                </div>
                <WhyPanel refOf={job} />
              </aside>
            )}
          </div>
          )}
          {group && line}
        </>
      )}
    </>
  );
}
