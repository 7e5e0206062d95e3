/** Where my work stands, and what the fleet has left. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Suspense, lazy } from "react";
import { budgets, flavors, nodes, ofUser, order, queues } from "../../api/reads";
import type { QueueView, WorkloadView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { may } from "../../ui/may";
import { gpus, money, plural } from "../../ui/numbers";
import { Badge, Empty, Failure, Figure, Loading, Meter, Name, StateBadge, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless } from "../../ui/text";
import { stateOf } from "../nodes/state";
import { useFirstSteps } from "../setup/fresh";

const FirstSteps = lazy(() => import("../setup/setup"));

export function OverviewPage() {
  const { me } = useVisitor();
  const [first, end] = useFirstSteps(me);
  return (
    <>
      <h1>Overview</h1>
      {first && (
        <Suspense fallback={<Loading what="the first steps" />}>
          <FirstSteps end={end} />
        </Suspense>
      )}
      <Incidents />
      <Free />
      <Mine />
      <MyQueues />
      <Budgets />
    </>
  );
}

function Free() {
  const { me } = useVisitor();
  const whole = may(me, "view");
  const found = useQuery({ ...flavors, enabled: whole });
  const waiting = useQuery(order);
  if (found.error) return <Failure error={found.error} />;
  if (whole && !found.data) return <Loading what="what is free" />;
  const listed = (found.data?.items ?? []).filter((each) => each.gpu_total_milli);
  return (
    <section aria-label="What is free">
      <dl className="figures">
        {listed.map((each) => (
          <Figure
            key={each.flavor}
            label={`${harmless(each.flavor, 40)} GPUs free`}
            value={`${gpus(each.gpu_free_milli)} of ${gpus(each.gpu_total_milli)}`}
          >
            <Meter
              label={`${gpus(each.gpu_free_milli)} of ${gpus(each.gpu_total_milli)} free`}
              used={each.gpu_free_milli}
              of={each.gpu_total_milli}
            />
            <Link to="/fleet">
              at most {each.largest_hole} on one node; {each.whole_nodes ? plural(each.whole_nodes, "whole node") : "no whole node"} free
            </Link>
          </Figure>
        ))}
        {whole && !listed.length && (
          <Figure label="GPUs" value="none">
            CPUs are scheduled all the same
          </Figure>
        )}
        <Figure label="Waiting" value={waiting.data ? plural(waiting.data.total, "gang") : "…"}>
          <Link to="/queue">see the queue in decision order</Link>
        </Figure>
      </dl>
    </section>
  );
}

const ENDED = new Set(["SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT"]);
const SHOWN = 8;

function Mine() {
  const { me } = useVisitor();
  const found = useQuery(ofUser(me.user));
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="your work" />;
  const live = liveFirst(found.data.items);
  const over = endedLast(found.data.items);
  return (
    <section aria-label="Your work">
      <h2>Your work</h2>
      {!found.data.items.length && (
        <Empty title="Nothing of yours yet">
          <p>
            <Link to="/submit" className="button primary">
              Submit a workload
            </Link>
          </p>
        </Empty>
      )}
      {live.length > 0 && <Jobs title="Runs or waits" file="my-work" jobs={live} />}
      {over.length > 0 && <Jobs title="Ended last" file="my-ended-work" jobs={over} />}
    </section>
  );
}

/** What has not ended: what waits comes last, in the order of the queue. */
export function liveFirst(jobs: readonly WorkloadView[]): WorkloadView[] {
  const place = (job: WorkloadView) => (job.state === "QUEUED" ? job.position || Infinity : 0);
  const live = jobs.filter((each) => !ENDED.has(each.state));
  return live.sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
}

/** What ended, the last first. */
export function endedLast(jobs: readonly WorkloadView[]): WorkloadView[] {
  const over = jobs.filter((each) => ENDED.has(each.state));
  return over.sort((a, b) => (b.ended ?? 0) - (a.ended ?? 0)).slice(0, SHOWN);
}

const JOBS: readonly PlainColumn<WorkloadView>[] = [
  {
    key: "id",
    title: "Workload",
    value: (each) => each.id,
    cell: (each) => (
      <Link to="/workloads/$ref" params={{ ref: each.id }}>
        <Name text={each.id} most={64} />
      </Link>
    ),
  },
  {
    key: "state",
    title: "State",
    className: "states",
    value: (each) => each.state,
    cell: (each) => <StateBadge of={each} />,
  },
  {
    key: "queue",
    title: "Queue",
    className: "queues",
    wide: true,
    value: (each) => each.queue,
    cell: (each) => <Name text={each.queue} most={40} />,
  },
  {
    key: "gpus",
    title: "GPUs",
    align: "end",
    className: "counts",
    value: (each) => each.gpus,
    cell: (each) => each.gpus,
  },
  { key: "now", title: "What now", className: "now", value: (each) => each.message, cell: now },
];

function Jobs({ title, file, jobs }: { title: string; file: string; jobs: readonly WorkloadView[] }) {
  return (
    <PlainTable
      label={title}
      caption={title}
      className="jobs"
      file={file}
      one="workload"
      columns={JOBS}
      rows={jobs}
      id={(each) => each.id}
    />
  );
}

function now(job: WorkloadView) {
  if (job.state === "QUEUED")
    return (
      <>
        {job.position ? `number ${job.position} in the queue; ` : ""}
        <Link to="/workloads/$ref" params={{ ref: job.id }} search={{ tab: "why" }}>
          {harmless(job.message || job.reason || "not looked at yet", 160)}
        </Link>
      </>
    );
  if (job.state === "SUSPENDED") return harmless(job.message || "resume it to go on", 160);
  if (job.ended) return <>ended <Time at={job.ended} /></>;
  if (job.started) return <>started <Time at={job.started} /></>;
  return <>submitted <Time at={job.submitted} /></>;
}

/** Where a queue stands, in one sentence. */
export function standing(queue: QueueView): string {
  const used = queue.gpu_used_milli;
  const quota = Object.values(queue.quota).reduce((sum, each) => sum + (each.gpu_milli ?? 0), 0);
  const waits = queue.waiting ? `; ${plural(queue.waiting, "gang")} ${queue.waiting === 1 ? "waits" : "wait"}` : "";
  const risk = queue.reclaimable_gpu_milli
    ? `; it deserves ${gpus(queue.deserved_gpu_milli)} now, so that others may reclaim ${gpus(queue.reclaimable_gpu_milli)}`
    : "";
  if (!quota) return `uses ${plural(used / 1000, "GPU")} and is guaranteed none${risk}${waits}`;
  const beyond = used - quota;
  const said =
    beyond > 0
      ? `uses ${plural(used / 1000, "GPU")}: its ${gpus(quota)} and ${gpus(beyond)} borrowed`
      : `uses ${gpus(used)} of its ${gpus(quota)} GPUs; ${gpus(-beyond)} are lent or free`;
  return said + risk + waits;
}

function MyQueues() {
  const { me } = useVisitor();
  const mine = useQuery(ofUser(me.user));
  const found = useQuery(queues);
  if (!found.data || !mine.data) return null;
  const names = new Set(mine.data.items.map((each) => each.queue));
  const listed = found.data.items.filter((each) => names.has(each.name));
  if (!listed.length) return null;
  return (
    <section aria-label="Your queues">
      <h2>Your queues</h2>
      <ul className="lines">
        {listed.map((each) => (
          <li key={each.name}>
            <Link to="/queues" search={{ queue: each.name }}>
              <Name text={each.name} most={60} />
            </Link>{" "}
            {standing(each)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Budgets() {
  const found = useQuery(budgets);
  if (!found.data?.items.length) return null;
  const currency = found.data.currency;
  return (
    <section aria-label="Budgets">
      <h2>Budgets left</h2>
      <ul className="lines">
        {found.data.items.map((each) => (
          <li key={each.queue}>
            <Link to="/budgets" search={{ queue: each.queue }}>
              <Name text={each.queue} most={60} />
            </Link>{" "}
            has {money(each.left_micro, currency)} of {money(each.micro + each.carried_micro, currency)} until{" "}
            <Time at={each.end} exact />: {money(each.spent_micro, currency)} spent, {money(each.reserved_micro, currency)}{" "}
            reserved for what runs
          </li>
        ))}
      </ul>
    </section>
  );
}

function Incidents() {
  const { me } = useVisitor();
  const found = useQuery({ ...nodes, enabled: may(me, "view") });
  const mine = useQuery(ofUser(me.user));
  const bad = found.data?.items.filter((each) => each.state !== "ready") ?? [];
  const sick = found.data?.items.filter((each) => each.devices.some((gpu) => !gpu.healthy)) ?? [];
  const alarms = mine.data?.items.flatMap((job) =>
    Object.values(job.alarms).map((message) => ({ job: job.id, message })),
  );
  if (!bad.length && !sick.length && !alarms?.length) return null;
  return (
    <section className="notice warn" aria-label="Incidents">
      <h2>Needs a look</h2>
      <ul className="lines">
        {bad.slice(0, SHOWN).map((each) => (
          <li key={each.name}>
            <Link to="/fleet" search={{ node: each.name }}>
              <Name text={each.name} most={60} />
            </Link>{" "}
            <Badge text={stateOf(each)} /> {harmless(each.reason, 160)}
          </li>
        ))}
        {bad.length > SHOWN && <li>and {plural(bad.length - SHOWN, "further node")}</li>}
        {sick.map((each) => (
          <li key={each.name}>
            <Link to="/fleet" search={{ node: each.name, color: "health" }}>
              <Name text={each.name} most={60} />
            </Link>{" "}
            {plural(each.devices.filter((gpu) => !gpu.healthy).length, "sick GPU")}
          </li>
        ))}
        {alarms?.map((each) => (
          <li key={each.job + each.message}>
            <Link to="/workloads/$ref" params={{ ref: each.job }}>
              <Name text={each.job} most={60} />
            </Link>{" "}
            {harmless(each.message, 300)}
          </li>
        ))}
      </ul>
    </section>
  );
}
