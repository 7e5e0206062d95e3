/** What a workload uses now, and what its attempts used and reported over their time. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { curves, use } from "../../api/reads";
import type { CurveView, DeviceUse, GangUse, WorkloadDetail } from "../../api/schema";
import { CsvButton, type Saved } from "../../ui/csv_button";
import { useNow } from "../../ui/clock";
import { absolute, count, memory, plural } from "../../ui/numbers";
import { Command, Empty, Failure, Loading, Meter, Name } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { useSettings } from "../../ui/settings";
import { harmless } from "../../ui/text";
import { GangChoice, clusterOf } from "./gang_choice";
import { corners, drawn, type Drawn } from "./lines";

const percent = (milli: number | null) => (milli === null ? "unknown" : `${count(Math.round(milli / 10))} %`);
const watts = (mw: number | null) => (mw === null ? "unknown" : `${count(Math.round(mw / 1000))} W`);
const size = (mib: number | null) => (mib === null ? "unknown" : memory(mib));

const DEVICES: readonly PlainColumn<DeviceUse>[] = [
  {
    key: "gpu",
    title: "GPU",
    value: (row) => `${row.node} ${row.index}`,
    cell: (row) => (
      <>
        <Name text={row.node} most={48} /> GPU {row.index} <span className="quiet">{row.type}</span>
      </>
    ),
  },
  {
    key: "busy",
    title: "Active",
    value: (row) => (row.busy_milli === null ? null : row.busy_milli / 10),
    cell: (row) => <Share label="active" used={row.busy_milli} of={1000} said={percent(row.busy_milli)} />,
  },
  {
    key: "memory",
    title: "Memory",
    value: (row) => row.memory_mib,
    cell: (row) => <Share label="of its memory" used={row.memory_mib} of={row.memory_total_mib} said={size(row.memory_mib)} />,
  },
  {
    key: "power",
    title: "Power",
    wide: true,
    value: (row) => (row.power_mw === null ? null : row.power_mw / 1000),
    cell: (row) => <Share label="of its limit" used={row.power_mw} of={row.power_limit_mw ?? 0} said={watts(row.power_mw)} />,
  },
];

function Share(props: { label: string; used: number | null; of: number; said: string }) {
  const { label, used, of, said } = props;
  if (used === null) return <>unknown</>;
  return (
    <span className="use wide-use">
      {said}
      {of > 0 && <Meter label={`${said} ${label}`} used={used} of={of} />}
    </span>
  );
}

const GANGS: readonly PlainColumn<GangUse>[] = [
  { key: "gang", title: "Gang", value: (row) => row.gang, cell: (row) => <Name text={row.gang} most={60} /> },
  { key: "gpus", title: "GPUs", align: "end", value: (row) => row.gpus, cell: (row) => count(row.gpus) },
  { key: "busy", title: "GPUs active", align: "end", value: (row) => row.gpu_busy_milli, cell: (row) => percent(row.gpu_busy_milli) },
  { key: "power", title: "Power", align: "end", wide: true, value: (row) => row.power_mw, cell: (row) => watts(row.power_mw) },
  {
    key: "cpu",
    title: "CPU",
    align: "end",
    value: (row) => row.cpu_milli,
    cell: (row) => (row.cpu_milli === null ? "unknown" : plural(row.cpu_milli / 1000, "core")),
  },
  { key: "memory", title: "Memory", align: "end", value: (row) => row.memory_mib, cell: (row) => size(row.memory_mib) },
  { key: "processes", title: "Processes", align: "end", wide: true, value: (row) => row.processes, cell: (row) => row.processes ?? "unknown" },
];

type Choose = (more: { gang?: number; rank?: number; attempt?: number | undefined }) => void;

export function UsePanel(props: {
  job: WorkloadDetail;
  gang: number;
  attempt: number | undefined;
  over: boolean;
  set: Choose;
}) {
  const { job, gang: index, attempt, over, set } = props;
  const elsewhere = clusterOf(job);
  const found = useQuery({ ...use, enabled: !over });
  const gangs = found.data?.gangs.filter((each) => each.workload === job.id) ?? [];
  const names = new Set(gangs.map((each) => each.gang));
  const devices = found.data?.devices.filter((each) => each.gangs.some((gang) => names.has(gang))) ?? [];
  if (found.error && !found.data && !over) return <Failure error={found.error} />;
  if (!found.data && !over) return <Loading what="what it uses" />;
  if (elsewhere)
    return (
      <Empty title="There are no curves">
        <p>
          It is work of the cluster {harmless(elsewhere.cluster, 63)}. Its scheduler reports what exporters there measure
          as sums of usage, where it finds any, and no curves.{" "}
          <Link to="/usage" search={{ by: "workload", queue: job.queue }}>
            Usage of its queue
          </Link>
        </p>
      </Empty>
    );
  return (
    <>
      {gangs.length > 0 && (
        <PlainTable label="What its gangs use" file={`${job.id}-use`} one="gang" columns={GANGS} rows={gangs} id={(row) => row.gang} />
      )}
      <Curves job={job} index={index} chosen={attempt} live={gangs.length > 0} set={set} />
      {devices.length > 0 && (
        <PlainTable
          label="Its GPUs"
          file={`${job.id}-gpus`}
          one="GPU"
          columns={DEVICES}
          rows={devices}
          id={(row) => `${row.node}/${row.index}`}
        />
      )}
      {!over && <Command line="ganglion top" />}
    </>
  );
}

/** What the attempts of one gang used and reported, over their time. */
function Curves(props: { job: WorkloadDetail; index: number; chosen: number | undefined; live: boolean; set: Choose }) {
  const { job, index, chosen, live, set } = props;
  const found = useQuery(curves(job.id, index, live));
  const gang = job.gangs.length > 1 && <GangChoice job={job} gang={index} choose={(gang) => set({ gang, rank: 0, attempt: undefined })} />;
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="its curves" />;
  const attempts = [...new Set(found.data.items.map((each) => each.attempt))];
  const attempt = chosen !== undefined && attempts.includes(chosen) ? chosen : attempts.at(-1);
  const mine = found.data.items.filter((each) => each.attempt === attempt);
  if (!mine.length)
    return (
      <section aria-label="Curves">
        {gang && <div className="line-with-button">{gang}</div>}
        <Empty title={job.gangs.length > 1 ? `Gang ${index} has no curves${live ? " yet" : ""}` : live ? "No curves yet" : "There are no curves"}>
          <p>
            What an attempt uses is measured every ten seconds while it runs, and what it reports is kept with that, for as long as its
            log is.
          </p>
        </Empty>
      </section>
    );
  const parts = [
    ["What it reports", mine.filter((each) => each.kind === "reported")],
    ["What it uses over time", mine.filter((each) => each.kind === "used")],
  ] as const;
  return (
    <section aria-label="Curves">
      <div className="line-with-button">
        <span className="choices">
          {gang}
          {attempts.length > 1 ? (
            <label>
              Attempt{" "}
              <select value={attempt} onChange={(event) => set({ attempt: Number(event.target.value) })}>
                {attempts.map((each) => (
                  <option key={each} value={each}>
                    {each}
                  </option>
                ))}
              </select>
            </label>
          ) : (
            <span className="quiet">attempt {attempt}</span>
          )}
        </span>
        <CsvButton file={`${job.id}-${index}-${attempt}-curves`} columns={POINTS} rows={mine.flatMap(pointsOf)} />
      </div>
      {parts.map(
        ([title, of]) =>
          of.length > 0 && (
            <section key={title}>
              <h3>{title}</h3>
              <div className="pair">
                {of.map((each) => (
                  <Line key={each.name} line={drawn(each)} />
                ))}
              </div>
            </section>
          ),
      )}
    </section>
  );
}

interface Point {
  name: string;
  at: number;
  step: number;
  value: number;
}

const POINTS: readonly Saved<Point>[] = [
  { title: "name", value: (row) => row.name },
  { title: "time", value: (row) => new Date(row.at).toISOString() },
  { title: "step", value: (row) => row.step || null },
  { title: "value", value: (row) => row.value },
];

function pointsOf(curve: CurveView): Point[] {
  return curve.values.map((value, n) => ({
    name: curve.name,
    at: curve.times[n] ?? 0,
    step: curve.steps[n] ?? 0,
    value,
  }));
}

/** A curve with the numbers at its ends. */
function Line({ line }: { line: Drawn }) {
  const unit = (value: number) => (line.unit === "cores" && value === 1 ? " core" : line.unit && ` ${line.unit}`);
  const number = (value: number) => `${Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 })}${unit(value)}`;
  const title = harmless(line.title, 64);
  const [first, last] = [line.at[0] ?? 0, line.at.at(-1) ?? 0];
  const now = useNow();
  const { zone } = useSettings();
  const place = (at: number) => (line.by === "step" ? `step ${count(at)}` : absolute(at, now, zone));
  return (
    <figure className="days curve">
      <figcaption>
        {title} <strong>{number(line.values.at(-1) ?? 0)}</strong>
      </figcaption>
      <div className="curve-plot">
        <span>{number(line.most)}</span>
        <span>{number(line.least)}</span>
        <svg
          className="line"
          role="img"
          aria-label={`${title}: ${plural(line.values.length, "point")}, from ${number(Math.min(...line.values))} to ${number(Math.max(...line.values))}`}
          viewBox="0 0 100 40"
          preserveAspectRatio="none"
        >
          <polyline points={corners(line)} vectorEffect="non-scaling-stroke" />
        </svg>
      </div>
      <p className="curve-axis quiet">
        <span>{place(first)}</span>
        {last > first && <span>{place(last)}</span>}
      </p>
    </figure>
  );
}
