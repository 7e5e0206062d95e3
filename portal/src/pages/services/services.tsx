/** Services: how many replicas, what they have to do, and how fast they answer. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { change, part } from "../../api/client";
import { models, ofKind, workload } from "../../api/reads";
import type { RoutedLoad, WorkloadDetail, WorkloadView } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Field, Fields } from "../../ui/fields";
import { Listing } from "../../ui/listing";
import { count } from "../../ui/numbers";
import { OpenButton } from "../../ui/open";
import { Badge, Empty, Meter, Name, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { Facts } from "../../ui/side";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { NoAddress, Unreached } from "../../ui/unreached";
import { idOf, QUEUE, STATE, USER } from "../../ui/work_columns";
import { WorkSide } from "../../ui/work_side";
import { keptOf, rolloutOf, versionIn } from "./kept";
import { ModelButtons, Models } from "./models";

const route = getRouteApi("/services");
/** Services whose load is read; the load is no event, so it is asked for. */
const WATCHED = 40;
const AGAIN_MS = 5_000;

export interface Service extends WorkloadView {
  load: RoutedLoad | null;
  wanted: number;
  version: string;
}

export function withLoad(view: WorkloadView, detail: WorkloadDetail | undefined): Service {
  return { ...view, load: detail?.load ?? null, wanted: detail?.scaling?.wanted ?? view.gangs, version: detail?.model?.version ?? "" };
}

const ms = (value: number | null | undefined) => (value === null || value === undefined ? "–" : `${count(value)} ms`);

function within(p50: number | null, p90: number | null): string {
  return p50 === null ? "no answer within the last minute" : `half within ${ms(p50)}, 90 % within ${ms(p90)}`;
}

const COLUMNS: readonly Column<Service>[] = [
  idOf("Service"),
  STATE,
  {
    key: "running",
    title: "Replicas",
    width: "6.5rem",
    align: "end",
    value: (row) => row.running,
    cell: (row) => `${row.running} of ${row.wanted}`,
  },
  {
    key: "load",
    title: "Requests",
    width: "minmax(7rem, 1fr)",
    align: "end",
    wide: true,
    value: (row) => (row.load ? row.load.running + row.load.waiting : null),
    cell: (row) => (row.load ? `${row.load.running}${row.load.waiting ? ` + ${row.load.waiting} wait` : ""}` : "–"),
  },
  {
    key: "p90",
    title: "p90",
    width: "6rem",
    align: "end",
    wide: true,
    value: (row) => row.load?.whole_p90_ms ?? null,
    cell: (row) => ms(row.load?.whole_p90_ms),
  },
  {
    key: "gpus",
    title: "GPUs",
    width: "5rem",
    align: "end",
    wide: true,
    value: (row) => row.gpus_held,
    cell: (row) => count(row.gpus_held),
  },
  {
    key: "version",
    title: "Model version",
    width: "7.5rem",
    roomy: true,
    value: (row) => row.version,
    cell: (row) => (row.version ? <Name text={row.version} most={16} /> : "–"),
  },
  QUEUE,
  USER,
];

export function ServicesPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(ofKind("service"));
  const items = found.data?.items;
  const details = useQueries({
    queries: (items ?? []).slice(0, WATCHED).map((each) => ({ ...workload(each.id), refetchInterval: AGAIN_MS })),
    combine: (all) => new Map(all.flatMap((each) => (each.data ? [[each.data.id, each.data] as const] : []))),
  });
  const rows = items?.map((each) => withLoad(each, details.get(each.id)));
  const set = (more: Partial<typeof search>) => void go({ search: (was) => ({ ...was, ...more }), replace: true });
  return (
    <>
      <Listing
        title="Services"
        lead="Programs that answer requests. The router counts requests and times answers, each of the last minute."
        file="services"
        rows={rows}
        error={found.error}
        columns={COLUMNS}
        id={(row) => row.id}
        words={(row) => [row.id, row.queue, row.user, row.message]}
        state={(row) => row.state}
        search={search}
        set={set}
        notice={<Unreached />}
        line="ganglion ps --kind service"
        empty={
          <Empty title="No service runs or waits">
            <p>A service has `kind: service` and a `port`; the router leads requests to its replicas.</p>
            <p>
              <Link to="/submit" search={{ template: "service" }} className="button primary">
                Submit a service
              </Link>
            </p>
          </Empty>
        }
        panel={search.at && <ServicePanel id={search.at} close={() => set({ at: undefined })} />}
      />
      <Models />
    </>
  );
}

function ServicePanel({ id, close }: { id: string; close(): void }) {
  return (
    <WorkSide id={id} label="Service" close={close} again={AGAIN_MS} line={`ganglion describe ${word(id)}`}>
      {(job) => <About job={job} />}
    </WorkSide>
  );
}

/** What says which model a service has: its image, and variables and labels that name one. */
export function modelOf(document: Record<string, unknown>): [string, string][] {
  const found: [string, string][] = [];
  if (typeof document["image"] === "string") found.push(["image", document["image"]]);
  for (const part of ["labels", "env"]) {
    const values = document[part];
    if (!values || typeof values !== "object") continue;
    for (const [key, value] of Object.entries(values))
      if (/model|version|revision/i.test(key) && typeof value !== "object") found.push([key, String(value)]);
  }
  return found;
}

function About({ job }: { job: WorkloadDetail }) {
  const { load, scaling } = job;
  const listed = useQuery({ ...models, enabled: job.model !== null });
  const row = listed.data?.items.find((each) => each.workload === job.id);
  const bounds = scaling && scaling.floor !== null ? `${scaling.floor} to ${scaling.ceiling ?? "any"}` : "";
  return (
    <>
      <p>
        <Badge text={job.state} /> {harmless(job.message, 400)}
      </p>
      {Object.values(job.alarms).map((each) => (
        <p key={each} className="notice warn">
          {harmless(each, 600)}
        </p>
      ))}
      <Facts
        rows={[
          ["replicas", `${job.running} running, ${job.waiting} waiting, ${job.standby} standing by`],
          ["wanted", scaling ? String(scaling.wanted) : String(job.gangs.length)],
          ["scales from", bounds],
          ["since", scaling?.at ? <Time at={scaling.at} /> : null],
          ["because", harmless(scaling?.cause ?? "", 300)],
          ["reached at", job.url && <code>{harmless(job.url, 300)}</code>],
          ["model", job.model && <code>{harmless(job.model.uri || job.model.reference, 300)}</code>],
          ["model version", job.model && <Name text={job.model.version} most={28} />],
          ["model digest", job.model && <Name text={job.model.digest} most={28} />],
          ["kept", harmless(keptOf(job.model_kept), 400)],
          ["rollout", harmless(rolloutOf(row), 400)],
          ...modelOf(job.document).map(([key, value]) => [harmless(key, 40), harmless(value, 200)] as const),
        ]}
      />
      {row && row.outdated > 0 && (
        <Meter label={rolloutOf(row)} used={row.fresh} of={row.fresh + row.outdated} />
      )}
      <h3>Load</h3>
      {load ? (
        <Facts
          rows={[
            ["requests now", `${load.running} at replicas, ${load.waiting} wait`],
            ["answered", `${count(load.minute)} within a minute`],
            ["first byte", within(load.first_p50_ms, load.first_p90_ms)],
            ["whole answer", within(load.whole_p50_ms, load.whole_p90_ms)],
            ["failed", count(load.failed)],
          ]}
        />
      ) : (
        <p className="quiet">Unknown: the router has not reported about it.</p>
      )}
      <Replicas job={job} />
      {job.document["port"] != null && <NoAddress job={job} />}
      <div className="buttons">
        {job.url && <OpenButton id={job.id} />}
        <ScaleButton job={job} />
        {row && <ModelButtons row={row} />}
      </div>
    </>
  );
}

const REPLICAS: readonly PlainColumn<Replica>[] = [
  { key: "index", title: "Replica", value: (row) => row.index, cell: (row) => row.index },
  { key: "phase", title: "Phase", value: (row) => row.phase, cell: (row) => row.phase },
  { key: "node", title: "Node", value: (row) => row.node, cell: (row) => <Name text={row.node || "–"} most={30} /> },
  { key: "model", title: "Model", value: (row) => row.model, cell: (row) => <span title={harmless(row.model, 300)}>{harmless(versionIn(row.model) || "–", 12)}</span> },
  { key: "requests", title: "Requests", align: "end", value: (row) => row.requests, cell: (row) => row.requests ?? "–" },
];

interface Replica {
  id: string;
  index: number;
  phase: string;
  node: string;
  model: string;
  requests: number | null;
}

/** Replicas that have not ended. */
export function replicasOf(job: WorkloadDetail): Replica[] {
  return job.gangs
    .filter((each) => each.phase !== "ended")
    .map((each) => ({
      id: each.id,
      index: each.index,
      phase: each.draining ? "draining" : each.phase,
      node: each.placement?.pods[0]?.node ?? "",
      model: each.model,
      requests: job.load?.replicas[each.id] ?? null,
    }));
}

function Replicas({ job }: { job: WorkloadDetail }) {
  const rows = replicasOf(job);
  if (!rows.length) return <p className="quiet">It has no replica.</p>;
  return (
    <PlainTable
      label="Replicas"
      caption="Replicas"
      file={`replicas-${job.id}`}
      one="replica"
      columns={job.model ? REPLICAS : REPLICAS.filter((each) => each.key !== "model")}
      rows={rows}
      id={(row) => row.id}
    />
  );
}

function ScaleButton({ job }: { job: WorkloadDetail }) {
  const [text, setText] = useState("");
  const wanted = text.trim() || String(job.scaling?.wanted ?? job.gangs.length);
  const good = /^\d{1,5}(\.\.\d{1,5})?$/.test(wanted);
  return (
    <Confirm
      label="Scale"
      title={`How many replicas of ${harmless(job.id, 60)}?`}
      line={`ganglion scale ${word(job.id)} ${wanted}`}
      incomplete={!good}
      act={() =>
        change("POST", `/workloads/${part(job.id)}/scale`, {
          replicas: /^\d+$/.test(wanted) ? Number(wanted) : wanted,
        })
      }
    >
      <Fields>
        <Field
          label="Replicas"
          value={text}
          set={setText}
          wrong={!good}
          placeholder={wanted}
          hint="a number, or a floor and a ceiling: 2..8"
        />
      </Fields>
    </Confirm>
  );
}
