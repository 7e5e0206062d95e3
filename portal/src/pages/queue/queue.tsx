/** Everything that waits, in the order in which it is decided about. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { Button } from "react-aria-components";
import { order } from "../../api/reads";
import type { OrderItem } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Badge, Command, Empty, Failure, Loading, Name, Time } from "../../ui/parts";
import { RowLink } from "../../ui/row_link";
import { Table, type Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { WhyPanel } from "../workload/why";

const route = getRouteApi("/queue");

const COLUMNS: readonly Column<OrderItem>[] = [
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
    width: "minmax(8rem, 1.3fr)",
    narrow: "minmax(6rem, 1.3fr)",
    value: (row) => row.gang,
    cell: (row) => (
      <RowLink job={row.workload}>
        <Name text={row.gang.endsWith("/0") ? row.workload : row.gang} most={64} />
      </RowLink>
    ),
  },
  {
    key: "reason",
    title: "Waits for",
    width: "minmax(10rem, 3fr)",
    narrow: "minmax(6rem, 1.3fr)",
    value: (row) => (row.message ? `${row.reason}: ${row.message}` : row.reason),
    cell: (row) => (
      <span title={harmless(row.message, 1000)}>
        {row.reason && <Badge text={row.reason} tone={row.never ? "bad" : "wait"} />}{" "}
        {row.never ? "never: " : ""}
        {harmless(row.message || "not looked at yet", 200)}
      </span>
    ),
  },
  {
    key: "gpus",
    title: "GPUs",
    width: "4.5rem",
    narrow: "4rem",
    align: "end",
    value: (row) => row.gpus,
    cell: (row) => row.gpus,
  },
  {
    key: "queue",
    title: "Queue",
    width: "minmax(5rem, 1fr)",
    wide: true,
    value: (row) => row.queue,
    cell: (row) => <Name text={row.queue} most={40} />,
  },
  {
    key: "user",
    title: "User",
    width: "minmax(5rem, 1fr)",
    wide: true,
    value: (row) => row.user,
    cell: (row) => <Name text={row.user} most={40} />,
  },
  {
    key: "priority",
    title: "Priority",
    width: "5.5rem",
    align: "end",
    wide: true,
    value: (row) => row.priority,
    cell: (row) => row.priority,
  },
  {
    key: "submitted",
    title: "Submitted",
    width: "8.5rem",
    wide: true,
    value: (row) => (row.submitted ? new Date(row.submitted).toISOString() : null),
    cell: (row) => <Time at={row.submitted} />,
  },
];

export interface QueueFilter {
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
    (!text || [row.gang, row.queue, row.user, row.message].some((each) => each.toLowerCase().includes(text)))
  );
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
  const { text, reason, queue, mine, sort, job } = search;
  const user = mine ? me.user : undefined;
  const rows = useMemo(
    () => found.data?.items.filter((row) => fits(row, { text, reason, queue, user })) ?? [],
    [found.data, text, reason, queue, user],
  );
  const reasons = useMemo(() => counted(found.data?.items ?? [], (row) => row.reason), [found.data]);
  const names = useMemo(() => counted(found.data?.items ?? [], (row) => row.queue), [found.data]);
  const set = (more: Partial<typeof search>) =>
    void go({ search: (was) => ({ ...was, ...more }), replace: true });

  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the queue" />;
  return (
    <>
      <h1>Queue</h1>
      <p className="lead">
        What waits, in the order in which it is decided about. Each waits for one reason; choose a row to
        see what would help.
      </p>
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
            {(text || reason || queue || mine || sort) && (
              <Button className="small plain" onPress={() => void go({ search: job ? { job } : {} })}>
                Clear
              </Button>
            )}
          </div>
          <div className={job ? "split" : ""}>
            <Table
              label="Everything that waits"
              file="queue"
              columns={COLUMNS}
              rows={rows}
              id={(row) => row.gang}
              chosen={job}
              onOpen={(row) => set({ job: row.gang })}
              sort={sort}
              onSort={(each) => set({ sort: each })}
            />
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
          <Command line={command({ queue, user })} />
        </>
      )}
    </>
  );
}

function counted(items: readonly OrderItem[], key: (row: OrderItem) => string): [string, number][] {
  const found = new Map<string, number>();
  for (const each of items) found.set(key(each), (found.get(key(each)) ?? 0) + 1);
  return [...found].filter(([name]) => name).sort((a, b) => b[1] - a[1]);
}

function Choice(props: {
  label: string;
  value: string | undefined;
  counts: readonly [string, number][];
  set(value: string | undefined): void;
}) {
  const known = props.counts.some(([name]) => name === props.value);
  return (
    <label>
      {props.label}
      <select value={props.value ?? ""} onChange={(event) => props.set(event.target.value || undefined)}>
        <option value="">all</option>
        {props.value && !known && <option value={props.value}>{harmless(props.value, 60)} (0)</option>}
        {props.counts.map(([name, count]) => (
          <option key={name} value={name}>
            {harmless(name, 60)} ({count})
          </option>
        ))}
      </select>
    </label>
  );
}
