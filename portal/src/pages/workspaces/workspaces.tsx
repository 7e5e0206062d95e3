/** Workspaces: open one by a click, see whether it is idle and what it costs, suspend and resume it. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { change, part } from "../../api/client";
import { ofKind, workload } from "../../api/reads";
import type { Suspension, WorkloadDetail, WorkloadView } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Listing } from "../../ui/listing";
import { count, money, plural } from "../../ui/numbers";
import { OpenButton } from "../../ui/open";
import { Badge, Empty, Failure, Loading, Time } from "../../ui/parts";
import { Facts } from "../../ui/side";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { NoAddress, Unreached } from "../../ui/unreached";
import { idOf, STATE, USER } from "../../ui/work_columns";
import { WorkSide } from "../../ui/work_side";

const route = getRouteApi("/workspaces");
/** Whether a workspace is idle is no event, so it is asked for. */
const AGAIN_MS = 10_000;
const WATCHED = 40;

export interface Workspace extends WorkloadView {
  use: string;
}

const cost = (job: Pick<WorkloadView, "cost">) => (job.cost ? money(job.cost.so_far_micro, job.cost.currency) : "no price");

const COLUMNS: readonly Column<Workspace>[] = [
  idOf("Workspace"),
  STATE,
  {
    key: "use",
    title: "Use",
    width: "minmax(8rem, 2fr)",
    wide: true,
    value: (row) => row.message || row.use,
    cell: (row) => (
      <span title={harmless(row.message || row.use, 500)}>{harmless(row.message || row.use || "–", 160)}</span>
    ),
  },
  {
    key: "gpus",
    title: "GPUs",
    width: "4.5rem",
    align: "end",
    value: (row) => row.gpus_held,
    cell: (row) => count(row.gpus_held),
  },
  {
    key: "cost",
    title: "Cost so far",
    width: "7.5rem",
    align: "end",
    wide: true,
    value: (row) => (row.cost ? row.cost.so_far_micro / 1_000_000 : null),
    cell: (row) => cost(row),
  },
  {
    key: "started",
    title: "Started",
    width: "8.5rem",
    wide: true,
    value: (row) => (row.started ? new Date(row.started).toISOString() : null),
    cell: (row) => <Time at={row.started} />,
  },
  USER,
];

export function WorkspacesPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(ofKind("workspace"));
  const items = found.data?.items;
  const uses = useQueries({
    queries: (items ?? []).slice(0, WATCHED).map((each) => ({ ...workload(each.id), refetchInterval: AGAIN_MS })),
    combine: (all) => new Map(all.flatMap((each) => (each.data ? [[each.data.id, each.data.use] as const] : []))),
  });
  const rows = items?.map((each) => ({ ...each, use: uses.get(each.id) ?? "" }));
  const set = (more: Partial<typeof search>) => void go({ search: (was) => ({ ...was, ...more }), replace: true });
  return (
    <Listing
      title="Workspaces"
      lead="Notebooks and editors that run on the fleet. One that is idle is suspended after a warning, and comes back when it is opened or resumed."
      file="workspaces"
      rows={rows}
      error={found.error}
      columns={COLUMNS}
      id={(row) => row.id}
      words={(row) => [row.id, row.user, row.queue, row.message, row.use]}
      state={(row) => row.state}
      search={search}
      set={set}
      notice={<Unreached />}
      line="ganglion ps --kind workspace"
      actions={
        items?.length ? (
          <>
            <Link to="/submit" search={{ template: "jupyter" }} className="button small">
              New notebook
            </Link>
            <Link to="/submit" search={{ template: "code" }} className="button small">
              New VS Code server
            </Link>
          </>
        ) : null
      }
      empty={
        <Empty title="No workspace yet">
          <p>Begin with a template; it opens in a tab of this browser once it runs.</p>
          <p className="buttons center">
            <Link to="/submit" search={{ template: "jupyter" }} className="button primary">
              Jupyter
            </Link>
            <Link to="/submit" search={{ template: "code" }} className="button">
              VS Code server
            </Link>
          </p>
        </Empty>
      }
      panel={search.at && <WorkspacePanel id={search.at} close={() => set({ at: undefined })} />}
    />
  );
}

function WorkspacePanel({ id, close }: { id: string; close(): void }) {
  return (
    <WorkSide id={id} label="Workspace" close={close} again={AGAIN_MS} line={`ganglion open ${word(id)}`}>
      {(job) => <About job={job} />}
    </WorkSide>
  );
}

/** How long it may be idle, as the file says it. */
export function idleRule(document: Record<string, unknown>): string {
  const { idle_timeout: timeout, idle } = document;
  const parts: string[] = [];
  if (typeof timeout === "string" || typeof timeout === "number") parts.push(`suspended after ${timeout}`);
  if (idle && typeof idle === "object")
    for (const [key, value] of Object.entries(idle))
      if (value !== null && typeof value !== "object" && value !== "") parts.push(`${key}: ${String(value)}`);
  return parts.join("; ");
}

function About({ job }: { job: WorkloadDetail }) {
  const asleep = job.state === "SUSPENDED";
  const over = job.ended !== null;
  return (
    <>
      <p>
        <Badge text={job.state} /> {job.state === "QUEUED" && harmless(job.message, 400)}
      </p>
      {job.message && job.state === "RUNNING" && <p className="notice warn">{harmless(job.message, 600)}</p>}
      <Facts
        rows={[
          ["use", harmless(job.use, 400)],
          ["when idle", harmless(idleRule(job.document), 300)],
          ["holds", plural(job.gpus_held, "GPU")],
          ["cost so far", cost(job)],
          ["started", <Time key="started" at={job.started} exact />],
          ["reached at", job.url && <code>{harmless(job.url, 300)}</code>],
        ]}
      />
      <NoAddress job={job} />
      <div className="buttons">
        {job.url && job.state === "RUNNING" && <OpenButton id={job.id} primary />}
        {!asleep && !over && <Suspend id={job.id} />}
        {asleep && (
          <Confirm
            label="Resume"
            title={`Start ${harmless(job.id, 60)} again?`}
            line={`ganglion resume ${word(job.id)}`}
            act={() => change("POST", `/workloads/${part(job.id)}/resume`)}
          >
            <p>It goes before all that waits with a usual priority.</p>
          </Confirm>
        )}
        {!over && (
          <Link className="button" to="/workloads/$ref" params={{ ref: job.id }} search={{ tab: "logs" }}>
            Log
          </Link>
        )}
      </div>
    </>
  );
}

function Suspend({ id }: { id: string }) {
  const path = `/workloads/${part(id)}/suspend`;
  return (
    <Confirm
      label="Suspend"
      title={`Stop ${harmless(id, 60)} until it is resumed?`}
      line={`ganglion suspend ${word(id)} --yes`}
      act={() => change("POST", path)}
    >
      <Loss path={path} />
    </Confirm>
  );
}

function Loss({ path }: { path: string }) {
  const found = useQuery({
    queryKey: ["workload", "loss", path],
    queryFn: ({ signal }) => change<Suspension>("POST", path, undefined, { query: { dry_run: true }, signal }),
    staleTime: 0,
  });
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="what would be lost" />;
  return <p>{harmless(found.data.loss || "What is lost is unknown.", 1000)}</p>;
}
