/** One question about the past, how far it is, and its answer. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "react-aria-components";
import { question } from "../../api/reads";
import type { WhatIf, WhatIfFigure, WhatIfGroup, WhatIfMover, WhatIfReport, WhatIfStart } from "../../api/schema";
import { count, duration, plural } from "../../ui/numbers";
import { Badge, Command, Failure, Loading, Meter, Name, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless, word } from "../../ui/text";
import { NAMES, difference, said, tone } from "./figures";

const route = getRouteApi("/what-if/$question");

export function AnswerPage() {
  const { question: id } = route.useParams();
  const { all } = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(question(id));
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the question" />;
  const asked = found.data;
  return (
    <>
      <p className="quiet">
        <Link to="/what-if">What if</Link> / {harmless(asked.id, 40)}
      </p>
      <div className="head">
        <div>
          <h1>{harmless(asked.changes.join("; ") || "Nothing was otherwise", 300)}</h1>
          <p className="lead">
            Asked by <Name text={asked.user} most={60} /> <Time at={asked.at} exact />
          </p>
        </div>
        <Share />
      </div>
      <Progress asked={asked} />
      {asked.report && (
        <Report
          report={asked.report}
          all={Boolean(all)}
          show={(wanted) => void go({ search: { all: wanted || undefined }, replace: true })}
        />
      )}
      <Command line={`ganglion whatif show ${word(asked.id)}`} />
    </>
  );
}

/** The address of the page is what is shared: those who may see the answer see it there. */
function Share() {
  const [done, setDone] = useState(false);
  const copy = () =>
    navigator.clipboard.writeText(location.href).then(
      () => (setDone(true), setTimeout(() => setDone(false), 2_000)),
      () => undefined, // the address is in the bar of the browser
    );
  return <Button onPress={() => void copy()}>{done ? "Link copied" : "Copy a link to it"}</Button>;
}

function Progress({ asked }: { asked: WhatIf }) {
  if (asked.state === "done") return null;
  if (asked.state === "failed")
    return (
      <div className="notice bad" role="alert">
        <strong>It could not be answered.</strong> {harmless(asked.message, 1000)}
      </div>
    );
  const done = asked.done_permille / 10;
  return (
    <div className="notice" role="status">
      {asked.state === "waiting" ? "Others are answered first." : `Replaying the past: ${count(done)} % done.`}
      <Meter label={`${count(done)} % done`} used={done} of={100} />
    </div>
  );
}

interface FigureRow {
  group: WhatIfGroup;
  figure: string;
  found: WhatIfFigure;
}

function groupName(group: WhatIfGroup): string {
  if (group.by === "others") return "work of others";
  return group.by === "all" ? "all jobs" : `${group.by} ${group.name}`;
}

function columnsOf(currency: string): readonly PlainColumn<FigureRow>[] {
  const number = (key: "past" | "replay" | "changed" | "bar", title: string): PlainColumn<FigureRow> => ({
    key,
    title,
    align: "end",
    wide: key !== "changed",
    value: (row) => row.found[key],
    cell: (row) => `${key === "bar" ? "± " : ""}${said(row.figure, row.found[key], currency)}`,
  });
  return [
    {
      key: "group",
      title: "Group",
      value: (row) => groupName(row.group),
      cell: (row) => <Name text={groupName(row.group)} most={60} />,
    },
    { key: "jobs", title: "Jobs", align: "end", wide: true, value: (row) => row.group.jobs, cell: (row) => count(row.group.jobs) },
    {
      key: "figure",
      title: "Figure",
      value: (row) => row.figure,
      cell: (row) => NAMES[row.figure] ?? row.figure.replaceAll("_", " "),
    },
    number("past", "Past"),
    number("replay", "Replay"),
    number("changed", "Changed"),
    number("bar", "Error"),
    {
      key: "difference",
      title: "Difference",
      align: "end",
      value: (row) => (row.found.visible ? row.found.changed - row.found.replay : null),
      cell: (row) =>
        row.found.visible ? (
          <Badge text={difference(row.figure, row.found, currency)} tone={tone(row.figure, row.found)} />
        ) : (
          <span className="quiet">none we can see</span>
        ),
    },
  ];
}

/** Groups that are shown although nothing differs: all jobs, or, of a part of the queues, its own and others. */
export function isSummary(report: Pick<WhatIfReport, "groups">, group: WhatIfGroup): boolean {
  return group.by === "all" || !report.groups.some((each) => each.by === "all");
}

function Report({ report, all, show }: { report: WhatIfReport; all: boolean; show(all: boolean): void }) {
  const every = report.groups.flatMap((group) =>
    Object.entries(group.figures).map(([figure, found]) => ({ group, figure, found })),
  );
  const rows = all ? every : every.filter((each) => isSummary(report, each.group) || each.found.visible);
  const visible = every.some((each) => each.found.visible);
  return (
    <>
      <p>
        {plural(report.jobs, "job")} from <Time at={report.since} exact /> to <Time at={report.until} exact />.
        {report.changes.length > 0 && !visible && " The change makes no difference that we can see."}
      </p>
      <label className="check">
        <input type="checkbox" checked={all} onChange={(event) => show(event.target.checked)} />
        All groups, also where nothing differs
      </label>
      <PlainTable
        label="Figures"
        file="what-if-figures"
        one="figure"
        columns={columnsOf(report.currency)}
        rows={rows}
        id={(row) => `${row.group.by}/${row.group.name}/${row.figure}`}
      />
      {report.starts.length > 0 && <Starts starts={report.starts} />}
      {report.changes.length > 0 && (
        <div className="pair">
          <Movers title="Would have waited less" file="winners" movers={report.winners} />
          <Movers title="Would have waited longer" file="losers" movers={report.losers} />
        </div>
      )}
      {report.others_shorter + report.others_longer > 0 && (
        <p>
          Of the work of others, {plural(report.others_shorter, "workload")} would have waited less and{" "}
          {plural(report.others_longer, "workload")} longer.
        </p>
      )}
      {report.assumptions.length > 0 && (
        <section aria-label="What the replays do not know">
          <h2>What the replays do not know</h2>
          <ul>
            {report.assumptions.map((each) => (
              <li key={each}>{harmless(each, 1000)}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Starts({ starts }: { starts: readonly WhatIfStart[] }) {
  return (
    <section aria-label="The workload that was submitted as well">
      <h2>The workload that was submitted as well</h2>
      <ul className="lines">
        {starts.slice(0, 100).map((each, n) => (
          <li key={n}>
            <Name text={each.name} most={60} /> in queue <Name text={each.queue} most={60} />, submitted{" "}
            <Time at={each.submitted} exact />:{" "}
            {each.started !== null ? (
              <>
                starts after {duration(each.started - each.submitted)}, <Time at={each.started} exact />
              </>
            ) : each.starting !== null ? (
              <>
                is starting at the end of the period, since <Time at={each.starting} exact />
              </>
            ) : (
              `still waits at the end of the period${each.message ? `: ${harmless(each.message, 500)}` : ""}`
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const MOVERS: readonly PlainColumn<WhatIfMover>[] = [
  {
    key: "workload",
    title: "Workload",
    value: (row) => row.workload,
    cell: (row) => (
      <Link to="/workloads/$ref" params={{ ref: row.workload }}>
        <Name text={row.workload} most={48} />
      </Link>
    ),
  },
  { key: "queue", title: "Queue", wide: true, value: (row) => row.queue, cell: (row) => <Name text={row.queue} most={40} /> },
  { key: "user", title: "User", wide: true, value: (row) => row.user, cell: (row) => <Name text={row.user} most={40} /> },
  { key: "replay", title: "Replay", align: "end", value: (row) => row.replay_ms, cell: (row) => duration(row.replay_ms) },
  { key: "changed", title: "Changed", align: "end", value: (row) => row.changed_ms, cell: (row) => duration(row.changed_ms) },
  { key: "bar", title: "Error", align: "end", value: (row) => row.bar_ms, cell: (row) => `± ${duration(row.bar_ms)}` },
];

function Movers({ title, file, movers }: { title: string; file: string; movers: readonly WhatIfMover[] }) {
  return (
    <div>
      <h2>{title}</h2>
      {movers.length ? (
        <PlainTable label={title} file={file} one="workload" columns={MOVERS} rows={movers} id={(row) => row.workload} />
      ) : (
        <p className="quiet">None we can see.</p>
      )}
    </div>
  );
}
