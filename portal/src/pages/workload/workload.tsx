/** Everything about one workload. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy, useEffect } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { change, part } from "../../api/client";
import { attempts, idOfKey, workload } from "../../api/reads";
import type { WaitedFor, WorkloadCost, WorkloadDetail } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { useNow } from "../../ui/clock";
import { clusterName, type ClusterName } from "../../ui/cluster_name";
import { Confirm } from "../../ui/confirm";
import { atMost } from "../../ui/cost";
import { may } from "../../ui/may";
import { count, duration, gpuHours as gpuHoursOf, hours, money, plural } from "../../ui/numbers";
import { Command, Empty, Failure, Figure, Loading, Name, Silent, StateBadge, Time } from "../../ui/parts";
import { harmless, word } from "../../ui/text";
import { remember } from "../../ui/undo";
import { undoUpdates } from "../../ui/undo_updates";
import { Checkpoints } from "./checkpoints";
import { Differences } from "./differences";
import { askThere, clusterOf, gangOf } from "./gang_choice";
import { attemptsOf, gpuHoursSoFar, lasting, stepsOf } from "./life";
import { Logs } from "./logs";
import { PlacementPanel } from "./placement";
import { WhyPanel } from "./why";


const UsePanel = lazy(() => import("./use").then((each) => ({ default: each.UsePanel })));
const Specification = lazy(() => import("./specification"));
const route = getRouteApi("/workloads/$ref");
const ENDED = new Set(["SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT"]);
const NO_UPDATE = { priority: null, queue: null };
type TabName = "why" | "logs" | "use" | "placement" | "spec";

export function WorkloadPage() {
  const { ref } = route.useParams();
  const away = clusterName(ref);
  return away ? <Sought of={away} /> : <Known ref_={ref} />;
}

/** Usage and events name work of clusters by its key there: its page is sought by that. */
function Sought({ of: { cluster, name, key } }: { of: ClusterName }) {
  const go = route.useNavigate();
  const found = useQuery(idOfKey(cluster, key));
  const id = found.data;
  useEffect(() => {
    if (id) void go({ params: { ref: id }, replace: true });
  }, [id, go]);
  if (found.error) return <Failure error={found.error} />;
  if (found.data !== "") return <Loading what="which work it is" />;
  return (
    <Empty title="It is not in the history any more">
      <p>
        Of <Name text={name} most={80} /> in cluster <Name text={cluster} most={63} />, the server has what it held and what was
        decided, and no page.
      </p>
    </Empty>
  );
}

function Known({ ref_: ref }: { ref_: string }) {
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(workload(ref));
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the workload" />;
  const job = found.data;
  const usual: TabName = job.state === "QUEUED" || clusterOf(job) ? "why" : "logs";
  const tab = search.tab ?? usual;
  const gang = gangOf(job, search.gang)?.index ?? 0;
  return (
    <>
      <Head job={job} />
      <Timeline job={job} />
      <Tabs
        selectedKey={tab}
        onSelectionChange={(key) =>
          void go({ search: (was) => ({ ...was, tab: key as TabName }), replace: true })
        }
      >
        <TabList aria-label="About this workload" className="tabs">
          <Tab id="why">Why</Tab>
          <Tab id="logs">Logs</Tab>
          <Tab id="use">Use</Tab>
          <Tab id="placement">Placement</Tab>
          <Tab id="spec">Specification</Tab>
        </TabList>
        <TabPanel id="why" className="panel">
          <h2 className="sr">Why</h2>
          {ENDED.has(job.state) ? <Ended job={job} /> : <WhyPanel refOf={job.id} clone={false} />}
        </TabPanel>
        <TabPanel id="logs" className="panel">
          <h2 className="sr">Log</h2>
          <Logs
            job={job}
            gang={gang}
            rank={search.rank ?? 0}
            find={search.find ?? ""}
            set={(more) => void go({ search: (was) => ({ ...was, ...more }), replace: true })}
          />
        </TabPanel>
        <TabPanel id="use" className="panel">
          <h2 className="sr">Use</h2>
          <Suspense fallback={<Loading what="what it uses" />}>
            <UsePanel
              job={job}
              gang={gang}
              attempt={search.attempt}
              over={ENDED.has(job.state)}
              set={(more) => void go({ search: (was) => ({ ...was, ...more }), replace: true })}
            />
          </Suspense>
        </TabPanel>
        <TabPanel id="placement" className="panel">
          <h2 className="sr">Placement</h2>
          <PlacementPanel job={job} />
        </TabPanel>
        <TabPanel id="spec" className="panel">
          <h2 className="sr">Specification</h2>
          <Differences job={job} />
          <Suspense fallback={<Loading what="the specification" />}>
            <Specification job={job} />
          </Suspense>
        </TabPanel>
      </Tabs>
    </>
  );
}

function Head({ job }: { job: WorkloadDetail }) {
  const now = useNow();
  const { me } = useVisitor();
  const over = ENDED.has(job.state);
  const lasts = lasting(job, now);
  const past = useQuery(attempts(job.id));
  const used = gpuHoursSoFar(job, past.data?.items, now);
  const held = job.reason === "held";
  const elsewhere = clusterOf(job);
  const path = `/workloads/${part(job.id)}`;
  const cancel = (leaving: boolean) => change("POST", `${path}/cancel`, { force: false }, { leaving });
  return (
    <header className="head">
      <div>
        <h1>
          <Name text={job.id} most={80} /> <StateBadge of={job} />
        </h1>
        <p className="lead">
          {job.kind} of <Name text={job.user} most={60} /> in queue{" "}
          {elsewhere ? (
            <Name text={job.queue} most={60} />
          ) : (
            <Link to="/queues" search={{ queue: job.queue }}>
              <Name text={job.queue} most={60} />
            </Link>
          )}
          , priority {job.priority}
          {job.url && (
            <>
              , reached at <code>{harmless(job.url, 300)}</code>
            </>
          )}
        </p>
        {job.message && job.state === "QUEUED" && (
          <p>
            {job.position ? `Number ${job.position} in the queue${elsewhere ? ` of cluster ${elsewhere.cluster}` : ""}: ` : ""}
            {harmless(job.message, 1000)}
          </p>
        )}
        {job.silent_since > 0 && elsewhere && <Silent cluster={elsewhere.cluster} since={job.silent_since} />}
        {Object.values(job.alarms).map((each) => (
          <p key={each} className="notice warn">
            {harmless(each, 1000)}
          </p>
        ))}
      </div>
      <dl className="figures tight">
        <Figure label="GPUs" value={over ? count(job.gpus) : `${count(job.gpus_held)} of ${count(job.gpus)}`}>
          {over ? "asked for" : "held now"}
        </Figure>
        <Figure label={lasts.what} value={lasts.ms === null ? "unknown" : duration(lasts.ms)} />
        <Figure label="GPU-hours" value={used ? hours(used.hours) : past.error ? "unknown" : "…"}>
          {used && (used.whole ? "of all attempts" : "of attempts that are known")}
        </Figure>
        {job.cost && <Cost cost={job.cost} over={over} />}
      </dl>
      <div className="buttons">
        {!over && !elsewhere && (
          <Confirm
            danger
            label="Cancel"
            title={`Cancel ${harmless(job.id, 60)}?`}
            line={`ganglion cancel ${word(job.id)}`}
            act={async () => {
              if (job.state !== "QUEUED") await cancel(false);
              else remember({ said: `${job.id} is cancelled`, undo: () => Promise.resolve(), send: cancel, reads: [] });
            }}
          >
            <p>
              {job.state === "QUEUED"
                ? "It ends in some seconds, until which you can take it back."
                : "This cannot be undone: what runs is asked to save and leave within its grace."}{" "}
              A cancelled workload does not come back; it can be submitted again.
            </p>
          </Confirm>
        )}
        {job.state === "QUEUED" && !elsewhere && (
          <Confirm
            label={held ? "Release" : "Hold"}
            title={held ? "Let it start?" : "Keep it from starting?"}
            line={`ganglion update ${word(job.id)} --${held ? "release" : "hold"}`}
            act={async () => {
              await change("PATCH", path, { held: !held });
              remember(undoUpdates(`${job.id} is ${held ? "released" : "held"}.`, [{ ...NO_UPDATE, workload: job.id, held }], { held: !held }));
            }}
          />
        )}
        {job.failed > 0 && over && !elsewhere && (
          <Confirm
            label="Retry"
            title="Submit what failed again?"
            line={`ganglion retry ${word(job.id)}`}
            act={() => change("POST", `${path}/retry`)}
          />
        )}
        {!elsewhere && (
          <Link className="button" to="/submit" search={{ from: job.id }}>
            Clone and change
          </Link>
        )}
        {may(me, "audit") && !elsewhere && (
          <Link className="button" to="/audit" search={{ workload: job.id, since: String(job.submitted) }}>
            Audit
          </Link>
        )}
        {elsewhere && !over && (
          <>
            <p className="quiet">It is work of the cluster {harmless(elsewhere.cluster, 63)}, which carries changes out:</p>
            <Command
              line={askThere("cancel", elsewhere)}
              label="Cancel it on the command line"
            />
          </>
        )}
      </div>
    </header>
  );
}

function Cost({ cost, over }: { cost: WorkloadCost; over: boolean }) {
  const said = [
    ...(over ? [] : [harmless(atMost(cost), 100)]),
    ...(cost.unpriced_gpu_us > 0 ? [`${hours(gpuHoursOf(cost.unpriced_gpu_us))} GPU-hours have no price`] : []),
  ];
  return (
    <Figure label={over ? "Cost" : "Cost so far"} value={money(cost.so_far_micro, cost.currency)}>
      {said.join("; ")}
    </Figure>
  );
}

function Timeline({ job }: { job: WorkloadDetail }) {
  const found = useQuery(attempts(job.id));
  const now = useNow();
  const steps = stepsOf(job, attemptsOf(found.data?.items ?? []));
  const restarts = job.gangs.reduce((sum, each) => sum + each.restarts, 0);
  return (
    <section aria-label="Timeline" className="timeline">
      <ol>
        {steps.map((each, n) => {
          const before = steps[n - 1];
          const gap = before ? (each.open ? Math.max(now, each.at) : each.at) - before.at : 0;
          return (
            <li key={`${n}-${each.what}`}>
              {gap >= 1000 && <span className="gap">{duration(gap)}</span>}
              <strong>{harmless(each.what, 60)}</strong> {!each.open && <Time at={each.at} exact />}
              {each.more && <span className="quiet"> {harmless(each.more, 300)}</span>}
              {each.waited !== undefined && <Waited parts={each.waited} open={each.open ?? false} />}
            </li>
          );
        })}
      </ol>
      <Checkpoints job={job} />
      {(restarts > 0 || job.preemptions > 0) && (
        <p className="quiet">
          {plural(restarts, "earlier attempt")}, stopped for others {plural(job.preemptions, "time")}; why each ended:{" "}
          <code>
            {clusterOf(job)
              ? `ganglion audit show --queue ${harmless(word(job.queue), 80)} --kind gang_ended --since all`
              : `ganglion events ${harmless(word(job.id), 80)}`}
          </code>
        </p>
      )}
    </section>
  );
}

/** For what it waited before a step, and how long. */
function Waited({ parts, open }: { parts: readonly WaitedFor[] | null; open: boolean }) {
  if (!parts) return <span className="waited">waited, for what is unknown</span>;
  // What begins to wait has its reason in the next turn.
  const known = open ? parts.filter((each) => each.reason !== "unknown" || each.total_ms >= 1000) : parts;
  if (!known.length) return null;
  return (
    <span className={open ? "quiet" : "waited"}>
      {open ? "" : "waited "}for{" "}
      {known.map((each, n) => (
        <span key={each.reason}>
          {n > 0 && ", "}
          <b>{harmless(each.reason, 30)}</b> {each.total_ms < 1000 ? "under 1 s" : duration(each.total_ms)}
          {each.times > 1 && ` in ${count(each.times)} parts`}
        </span>
      ))}
    </span>
  );
}

function Ended({ job }: { job: WorkloadDetail }) {
  return (
    <>
      <p>
        It has ended <Time at={job.ended} exact />
        {job.exit_code !== null && ` with exit code ${job.exit_code}`}. {harmless(job.message, 1000)}
      </p>
      {job.spent && (
        <p>
          It waited {duration(job.spent.wait_ms)}, ran {duration(job.spent.run_ms)} in{" "}
          {plural(job.spent.attempts, "attempt")}, and held {hours(job.spent.gpu_ms / 3_600_000)} GPU-hours.
        </p>
      )}
      <Command line={`ganglion describe ${word(job.id)}`} />
    </>
  );
}
