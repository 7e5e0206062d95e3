/** Sweeps: how far their trials are, and which is best so far. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { ofKind, workload } from "../../api/reads";
import type { WorkloadDetail, WorkloadView } from "../../api/schema";
import { Select } from "../../ui/fields";
import { Listing } from "../../ui/listing";
import { count, plural } from "../../ui/numbers";
import { Badge, Command, Empty, Failure, Loading, Meter, Name } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { best, goalOf, metricsOf, trialsOf, type Trial } from "./trials";
import { idOf, STATE } from "../../ui/work_columns";

const route = getRouteApi("/sweeps");
/** Sweeps of the list whose trials are read. */
const WATCHED = 20;

interface SweepRow extends WorkloadView {
  best: string;
  value: number | null;
}

const done = (row: WorkloadView) => row.succeeded + row.failed + row.cancelled + row.stopped_early;

const COLUMNS: readonly Column<SweepRow>[] = [
  idOf("Sweep"),
  STATE,
  {
    key: "done",
    title: "Trials ended",
    width: "minmax(9rem, 1.2fr)",
    narrow: "minmax(8rem, 1fr)",
    value: done,
    cell: (row) => (
      <span className="use">
        {`${done(row)} of ${row.gangs}`}
        <Meter label={`${done(row)} of ${row.gangs} trials have ended`} used={done(row)} of={row.gangs} />
      </span>
    ),
  },
  { key: "running", title: "Run", width: "4.5rem", align: "end", roomy: true, value: (row) => row.running, cell: (row) => row.running },
  { key: "waiting", title: "Wait", width: "4.5rem", align: "end", roomy: true, value: (row) => row.waiting, cell: (row) => row.waiting },
  { key: "failed", title: "Failed", width: "5rem", align: "end", wide: true, value: (row) => row.failed, cell: (row) => row.failed },
  {
    key: "stopped",
    title: "Given up",
    width: "6rem",
    align: "end",
    wide: true,
    value: (row) => row.stopped_early,
    cell: (row) => row.stopped_early,
  },
  {
    key: "best",
    title: "Best so far",
    width: "minmax(8rem, 2fr)",
    wide: true,
    value: (row) => row.best,
    cell: (row) => <span title={harmless(row.best, 400)}>{harmless(row.best || "nothing reported", 120)}</span>,
  },
];

export function SweepsPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(ofKind("sweep", true));
  const items = found.data?.items;
  const details = useQueries({
    queries: (items ?? []).slice(0, WATCHED).map((each) => workload(each.id)),
    combine: (all) => new Map(all.flatMap((each) => (each.data ? [[each.data.id, each.data] as const] : []))),
  });
  const rows = useMemo(() => items?.map((each) => summed(each, details.get(each.id))), [items, details]);
  const set = (more: Partial<typeof search>) => void go({ search: (was) => ({ ...was, ...more }), replace: true });
  return (
    <>
      <Listing
        title="Sweeps"
        lead="One program with many settings. Choose a sweep to see its trials, the best first."
        file="sweeps"
        rows={rows}
        error={found.error}
        columns={COLUMNS}
        id={(row) => row.id}
        words={(row) => [row.id, row.user, row.queue]}
        state={(row) => row.state}
        search={{ ...search, sort: search.at ? undefined : search.sort }}
        set={set}
        line="ganglion ps --kind sweep"
        empty={
          <Empty title="No sweep yet">
            <p>A sweep runs one command with every setting of its `params`, as many at a time as `parallel` says.</p>
            <p>
              <Link to="/submit" search={{ template: "sweep" }} className="button primary">
                Submit a sweep
              </Link>
            </p>
          </Empty>
        }
      />
      {search.at && <Trials id={search.at} metric={search.metric} sort={search.sort} set={set} />}
    </>
  );
}

function summed(view: WorkloadView, detail: WorkloadDetail | undefined): SweepRow {
  const rule = detail ? goalOf(detail) : null;
  const first = detail && rule ? best(trialsOf(detail, rule.metric), rule.goal) : undefined;
  const said = first && rule ? `${rule.metric} ${count(first.value ?? 0)} with ${first.settings || `trial ${first.index}`}` : "";
  return { ...view, best: said, value: first?.value ?? null };
}

const trialColumns = (metric: string, first: number | undefined): readonly Column<Trial>[] => [
  {
    key: "index",
    title: "Trial",
    width: "6.5rem",
    narrow: "5.5rem",
    value: (row) => row.index,
    cell: (row) => (
      <>
        {row.index} {row.index === first && <Badge text="best" tone="good" />}
      </>
    ),
  },
  { key: "phase", title: "Phase", width: "7.5rem", value: (row) => row.phase, cell: (row) => <Badge text={row.phase} tone={row.tone} /> },
  {
    key: "settings",
    title: "Settings",
    width: "minmax(8rem, 3fr)",
    narrow: "minmax(5rem, 2fr)",
    value: (row) => row.settings,
    cell: (row) => <span title={harmless(row.settings, 1000)}>{harmless(row.settings || "–", 200)}</span>,
  },
  {
    key: "value",
    title: metric ? harmless(metric, 30) : "Metric",
    width: "minmax(6rem, 1fr)",
    narrow: "minmax(4rem, 1fr)",
    align: "end",
    value: (row) => row.value,
    cell: (row) => (row.value === null ? "–" : row.value.toPrecision(6).replace(/\.?0+$/, "")),
  },
  { key: "step", title: "Step", width: "6rem", align: "end", wide: true, value: (row) => row.step, cell: (row) => row.step ?? "–" },
  {
    key: "message",
    title: "What happened",
    width: "minmax(6rem, 2fr)",
    wide: true,
    value: (row) => row.message,
    cell: (row) => harmless(row.message || "–", 160),
  },
];

function Trials(props: {
  id: string;
  metric: string | undefined;
  sort: string | undefined;
  set(more: { at?: string | undefined; sort?: string | undefined; metric?: string | undefined }): void;
}) {
  const { id, set } = props;
  const go = route.useNavigate();
  const found = useQuery(workload(id));
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the trials" />;
  const job = found.data;
  const rule = goalOf(job);
  const known = metricsOf(job);
  const metric = props.metric ?? rule?.metric ?? known[0] ?? "";
  const goal = rule?.metric === metric ? rule.goal : "min";
  const trials = trialsOf(job, metric);
  const first = best(trials, goal);
  const ranked = [...trials].sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null ? 1 : 0) - (b.value === null ? 1 : 0) || a.index - b.index;
    return goal === "max" ? b.value - a.value : a.value - b.value;
  });
  return (
    <section aria-label="Trials">
      <h2>
        Trials of{" "}
        <Link to="/workloads/$ref" params={{ ref: id }}>
          <Name text={id} most={60} />
        </Link>
      </h2>
      <p className="lead">
        {first
          ? `Best so far: ${harmless(metric, 60)} ${first.value} at step ${first.step ?? "unknown"}, ${harmless(first.settings || `trial ${first.index}`, 300)}.`
          : "No trial has reported a metric. A program does so by `report(step=…, loss=…)`, or by a line in the file that $GANGLION_REPORT_FILE names."}
      </p>
      {known.length > 1 && (
        <div className="filters">
          <Select label="Metric" value={metric} set={(each) => set({ metric: each })} options={known.map((each) => [each, each] as const)} />
        </div>
      )}
      <Table
        label="Trials"
        file={`trials-${id}`}
        columns={trialColumns(metric, first?.index)}
        rows={ranked}
        id={(row) => String(row.index)}
        onOpen={(row) =>
          void go({ to: "/workloads/$ref", params: { ref: id }, search: { tab: "logs", gang: row.index } })
        }
        sort={props.sort}
        onSort={(sort) => set({ sort })}
      />
      <p className="quiet">
        {plural(trials.length, "trial")}; smaller is {goal === "min" ? "better" : "worse"}
        {rule ? "" : " (the sweep names no goal)"}. A row leads to the log of its trial.
      </p>
      <Command line={`ganglion describe ${word(id)}`} />
    </section>
  );
}
