/** Who did what and what was decided, whether all of it is as it was written, and its export. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { Button } from "react-aria-components";
import { address } from "../../api/client";
import { auditRecords } from "../../api/reads";
import type { TrailRecord } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { clusterName, knownAs } from "../../ui/cluster_name";
import { may } from "../../ui/may";
import { count } from "../../ui/numbers";
import { Command, Empty, Failure, Loading, Name, Time } from "../../ui/parts";
import { PeriodFields, periodOptions } from "../../ui/period";
import { RowLink } from "../../ui/row_link";
import { Facts } from "../../ui/side";
import { Table, type Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { Anchors } from "./anchors";
import { detailsOf, isPassed, subjectOf } from "./said";
import { Verification } from "./verification";

const route = getRouteApi("/audit");
const USUAL = "24h";

const COLUMNS: readonly Column<TrailRecord>[] = [
  {
    key: "seq",
    title: "Event",
    width: "5rem",
    narrow: "3.25rem",
    align: "end",
    value: (row) => row.seq,
    cell: (row) => row.seq,
  },
  {
    key: "at",
    title: "Time",
    width: "7rem",
    narrow: "6.25rem",
    value: (row) => new Date(row.at).toISOString(),
    cell: (row) => <Time at={row.at} />,
  },
  {
    key: "actor",
    title: "Actor",
    width: "minmax(6rem, 1fr)",
    narrow: "minmax(5.5rem, 1fr)",
    value: (row) => row.actor,
    cell: (row) => (row.actor ? <Name text={row.actor} most={40} /> : "–"),
  },
  {
    key: "kind",
    title: "What",
    width: "minmax(9rem, 1.2fr)",
    narrow: "minmax(8rem, 1.6fr)",
    value: (row) => row.kind,
    cell: (row) => harmless(row.kind, 40).replaceAll("_", " "),
  },
  {
    key: "about",
    title: "About",
    width: "minmax(7rem, 1.2fr)",
    wide: true,
    value: (row) => subjectOf(row),
    cell: (row) => <About row={row} />,
  },
  {
    key: "queue",
    title: "Queue",
    width: "minmax(5rem, 0.8fr)",
    wide: true,
    value: (row) => row.queue,
    cell: (row) => (row.queue ? <Name text={row.queue} most={40} /> : "–"),
  },
  {
    key: "details",
    title: "Details",
    width: "minmax(8rem, 2fr)",
    wide: true,
    value: (row) => detailsOf(row),
    cell: (row) => <span title={harmless(detailsOf(row), 1000)}>{harmless(detailsOf(row), 160)}</span>,
  },
];

/** What is in the file, and no column has room for. */
const SAVED: readonly Column<TrailRecord>[] = (["rule", "request", "checksum"] as const).map((key) => ({
  key,
  title: key[0]?.toUpperCase() + key.slice(1),
  width: "0",
  value: (row) => row[key],
  cell: () => null,
}));

function About({ row }: { row: TrailRecord }) {
  const subject = subjectOf(row);
  if (row.cluster) {
    const away = `${row.cluster}:${subject}`;
    if (!clusterName(away)) return subject ? <Name text={subject} most={48} /> : "–";
    return (
      <RowLink job={away}>
        <Name text={knownAs(away)} most={48} />
      </RowLink>
    );
  }
  if (!row.workload) return subject ? <Name text={subject} most={48} /> : "–";
  return (
    <RowLink job={row.workload}>
      <Name text={subject || row.workload} most={48} />
    </RowLink>
  );
}

export function AuditPage() {
  const { me } = useVisitor();
  if (!may(me, "audit"))
    return (
      <>
        <h1>Audit</h1>
        <Empty title="The audit trail is for auditors">
          <p>An administrator can grant you the role auditor on the whole fleet:</p>
          <Command line={`ganglion role grant user:${word(me.user)} auditor`} label="Grant the role" />
        </Empty>
      </>
    );
  return <Trail />;
}

function Trail() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const { actor, kind, queue, workload, node, glass, until, event, sort } = search;
  const since = search.since ?? USUAL;
  const found = useInfiniteQuery(auditRecords({ actor, kind, queue, workload, node, glass, since, until }));
  const rows = useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]);
  const kinds = useMemo(() => [...new Set(rows.map((each) => each.kind))].sort(), [rows]);
  const set = (more: Partial<typeof search>) =>
    void go({ search: (was) => ({ ...was, ...more }), replace: true });
  const picked = rows.find((each) => String(each.seq) === event);
  const line = ["ganglion audit show", ...periodOptions({ since, until }, USUAL)]
    .concat(actor ? [`--actor ${word(actor)}`] : [])
    .concat(kind ? [`--kind ${word(kind)}`] : [])
    .concat(queue ? [`-q ${word(queue)}`] : [])
    .concat(workload ? [`--workload ${word(workload)}`] : [])
    .concat(node ? [`--node ${word(node)}`] : [])
    .concat(glass ? ["--glass"] : []);
  const pages = found.data?.pages;
  const looked = pages?.at(-1)?.looked_back ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = found;
  // What is rare may lie far back: pages in which nothing fits are passed over, some at a time.
  const passes = hasNextPage && !isFetchingNextPage && !found.error && isPassed(pages ?? []);
  useEffect(() => {
    if (passes) void fetchNextPage();
  }, [passes, fetchNextPage]);
  return (
    <>
      <div className="head">
        <div>
          <h1>Audit</h1>
          <p className="lead">Everything that was done and decided here: each is one event of a signed chain.</p>
        </div>
        <a className="button" href={address("/audit/export")} download="audit.jsonl">
          Export all of it
        </a>
      </div>
      <Anchors />
      <Verification />
      <div className="filters">
        <PeriodFields value={{ since, until }} usual={USUAL} set={set} />
        <Filter label="Actor" value={actor} hint="user, or scheduler" set={(text) => set({ actor: text })} />
        <Filter label="Type" value={kind} hint="as policy_set" list={kinds} set={(text) => set({ kind: text })} />
        <Filter label="Queue" value={queue} hint="and those below" set={(text) => set({ queue: text })} />
        <Filter label="Workload" value={workload} hint="id or name" set={(text) => set({ workload: text })} />
        <Filter label="Node" value={node} hint="and what ran on it" set={(text) => set({ node: text })} />
        <label className="check">
          <input
            type="checkbox"
            checked={Boolean(glass)}
            onChange={(change) => set({ glass: change.target.checked || undefined })}
          />
          Under break-glass
        </label>
      </div>
      {found.error && <Failure error={found.error} />}
      {!found.data && !found.error && <Loading what="the audit trail" />}
      {found.data &&
        (rows.length ? (
          <div className={picked ? "split" : ""}>
            <Table
              label="Audit records"
              file="audit"
              columns={COLUMNS}
              more={SAVED}
              rows={rows}
              id={(row) => String(row.seq)}
              chosen={event}
              onOpen={(row) => set({ event: String(row.seq) })}
              sort={sort}
              onSort={(wanted) => set({ sort: wanted })}
            />
            {picked && <Record row={picked} close={() => set({ event: undefined })} />}
          </div>
        ) : (
          <Empty title="No event fits">
            <p>
              {isFetchingNextPage
                ? `Looking further back, before event ${count(looked)} …`
                : hasNextPage
                  ? `Down to event ${count(looked)} none fits; older ones were not looked at yet.`
                  : "Choose a longer period, or leave out a filter."}
            </p>
          </Empty>
        ))}
      {found.hasNextPage && (
        <p>
          <Button isDisabled={found.isFetchingNextPage} onPress={() => void found.fetchNextPage()}>
            Older events
          </Button>
        </p>
      )}
      <Command line={line.join(" ")} />
      <Command line="ganglion audit export audit.jsonl" label="The same export on the command line" />
    </>
  );
}

function Filter(props: {
  label: string;
  value: string | undefined;
  hint: string;
  list?: readonly string[];
  set(text: string | undefined): void;
}) {
  const { label, value, hint, list, set } = props;
  const id = `audit-${label.toLowerCase()}`;
  return (
    <label>
      {label}
      <input
        key={value ?? ""}
        type="search"
        defaultValue={value ?? ""}
        placeholder={hint}
        spellCheck={false}
        autoComplete="off"
        list={list ? id : undefined}
        onBlur={(event) => event.target.value.trim() !== (value ?? "") && set(event.target.value.trim() || undefined)}
        onKeyDown={(event) => {
          if (event.key === "Enter") set(event.currentTarget.value.trim() || undefined);
        }}
      />
      {list && (
        <datalist id={id}>
          {list.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </label>
  );
}

function Record({ row, close }: { row: TrailRecord; close(): void }) {
  const facts: readonly [string, string][] = [
    ["actor", row.actor],
    ["allowed or decided by", row.rule],
    ["queue", row.queue],
    ["cluster", row.cluster],
    ["request", row.request],
    ["checksum", row.checksum],
  ];
  return (
    <aside className="side" aria-label="Event">
      <div className="side-head">
        <h2>Event {row.seq}</h2>
        <Button className="small plain" onPress={close}>
          Close
        </Button>
      </div>
      <p>
        <strong>{harmless(row.kind, 40).replaceAll("_", " ")}</strong> <Time at={row.at} exact />
      </p>
      {row.workload && (
        <p>
          about <About row={row} />
        </p>
      )}
      <Facts rows={facts.map(([name, value]) => [name, value && <Name text={value} most={200} />])} />
      <pre className="code" tabIndex={0} aria-label="The event">
        {JSON.stringify(row.event, null, 2)
          .split("\n")
          .map((each) => harmless(each, 2000))
          .join("\n")}
      </pre>
    </aside>
  );
}
