/** What a workload uses now, and since the page was opened. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { use } from "../../api/reads";
import type { DeviceUse, GangUse, WorkloadDetail } from "../../api/schema";
import { count, memory, plural } from "../../ui/numbers";
import { Command, Empty, Failure, Loading, Meter, Name } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";

const MOST_SAMPLES = 240;

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
  if (used === null) return <span className="quiet">unknown</span>;
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
    cell: (row) => (row.cpu_milli === null ? "unknown" : `${count(row.cpu_milli / 1000)} cores`),
  },
  { key: "memory", title: "Memory", align: "end", value: (row) => row.memory_mib, cell: (row) => size(row.memory_mib) },
  { key: "processes", title: "Processes", align: "end", wide: true, value: (row) => row.processes, cell: (row) => row.processes ?? "unknown" },
];

interface Sample {
  at: number;
  busy: number | null;
  cpu: number | null;
}

export function UsePanel({ job }: { job: WorkloadDetail }) {
  const found = useQuery(use);
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const gangs = found.data?.gangs.filter((each) => each.workload === job.id) ?? [];
  const at = found.data?.at;
  useEffect(() => {
    if (at === undefined || !found.data) return;
    const mine = found.data.gangs.filter((each) => each.workload === job.id);
    const sample = { at, busy: mean(mine), cpu: sum(mine.map((each) => each.cpu_milli)) };
    setSamples((was) => (was.at(-1)?.at === at ? was : [...was, sample].slice(-MOST_SAMPLES)));
  }, [at, found.data, job.id]);
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="what it uses" />;
  if (!gangs.length)
    return (
      <Empty title="It holds nothing now">
        <p>What it uses is measured while it runs; what it used is not kept.</p>
      </Empty>
    );
  const names = new Set(gangs.map((each) => each.gang));
  const devices = found.data.devices.filter((each) => each.gangs.some((gang) => names.has(gang)));
  return (
    <>
      <PlainTable label="What its gangs use" file={`${job.id}-use`} one="gang" columns={GANGS} rows={gangs} id={(row) => row.gang} />
      <div className="pair">
        <Line title="GPUs active, in %" values={samples.map((each) => (each.busy === null ? null : each.busy / 10))} most={100} />
        <Line title="CPU, in cores" values={samples.map((each) => (each.cpu === null ? null : each.cpu / 1000))} />
      </div>
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
      <Command line="ganglion top" />
    </>
  );
}

function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((each) => each !== null);
  return known.length ? known.reduce((all, each) => all + each, 0) : null;
}

function mean(gangs: readonly GangUse[]): number | null {
  const known = gangs.filter((each) => each.gpu_busy_milli !== null && each.gpus > 0);
  const gpus = known.reduce((all, each) => all + each.gpus, 0);
  return gpus ? known.reduce((all, each) => all + (each.gpu_busy_milli ?? 0) * each.gpus, 0) / gpus : null;
}

/** A curve over what was seen since the page was opened. */
function Line({ title, values, most }: { title: string; values: readonly (number | null)[]; most?: number }) {
  const known = values.filter((each) => each !== null);
  const top = most ?? Math.max(1, ...known);
  const points = values.flatMap((each, n) =>
    each === null ? [] : [`${(100 * n) / Math.max(1, values.length - 1)},${40 - (40 * each) / top}`],
  );
  const last = known.at(-1);
  return (
    <figure className="days">
      <figcaption>
        {title}: {last === undefined ? "unknown" : count(Math.round(last * 100) / 100)}
      </figcaption>
      {points.length > 1 ? (
        <svg
          className="line"
          role="img"
          aria-label={`${title}, ${plural(known.length, "sample")}, at most ${count(Math.max(...known))}`}
          viewBox="0 0 100 40"
          preserveAspectRatio="none"
        >
          <polyline points={points.join(" ")} vectorEffect="non-scaling-stroke" />
        </svg>
      ) : (
        <p className="quiet">{last === undefined ? "Nothing measures it on this machine." : "The curve begins now."}</p>
      )}
    </figure>
  );
}
