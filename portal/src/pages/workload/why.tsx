/** Why something waits: the reason with its numbers, who is ahead, when it starts, what would help. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { why, workload } from "../../api/reads";
import type { AskedScheduler, Band, Explained, Suggestion } from "../../api/schema";
import { Command, Failure, Loading, Name, Time, Badge } from "../../ui/parts";
import { Apply } from "./apply";
import { askThere, clusterOf, type Elsewhere } from "./gang_choice";
import { count, duration, gpus, hours, memory, plural } from "../../ui/numbers";
import { harmless, word } from "../../ui/text";
import { changeThere } from "./suggested";

/** `clone`: whether it offers to clone the workload; its own page does so already. */
export function WhyPanel({ refOf, clone = true }: { refOf: string; clone?: boolean }) {
  const found = useQuery(why(refOf));
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="why it waits" />;
  const { asked, explanations, gangs } = found.data;
  if (!explanations.length) return <p>It does not wait.</p>;
  return (
    <div className="why">
      {explanations.map((each) => (
        <Explanation key={each.gang} about={each} several={gangs > 1} clone={clone && !asked} asked={asked} refOf={refOf} />
      ))}
      {gangs > explanations.length && (
        <p className="quiet">{plural(gangs - explanations.length, "further gang")} not shown here.</p>
      )}
      {asked ? <There refOf={refOf} asked={asked} /> : <Command line={`ganglion why ${word(refOf)}`} />}
    </div>
  );
}

function Explanation(props: { about: Explained; several: boolean; clone: boolean; asked: AskedScheduler | null; refOf: string }) {
  const { about, several, clone, asked, refOf } = props;
  const { reason } = about;
  return (
    <article>
      {several && (
        <h3>
          <Name text={about.gang} most={64} />
        </h3>
      )}
      {reason ? (
        <p className="reason">
          <Badge text={reason.token} tone={reason.never ? "bad" : "wait"} />{" "}
          {reason.never ? "It can never start as things are: " : ""}
          {harmless(reason.message, 1000)}
        </p>
      ) : (
        <p>{harmless(about.text || `It is ${about.phase}.`, 1000)}</p>
      )}
      {reason && Object.keys(reason.evidence).length > 0 && (
        <dl className="evidence">
          {Object.entries(reason.evidence).map(([key, value]) => (
            <div key={key}>
              <dt>{words(key)}</dt>
              <dd>{measured(key, value)}</dd>
            </div>
          ))}
        </dl>
      )}
      {about.phase === "pending" && <Start about={about} />}
      <Suggestions about={about} clone={clone} asked={asked} refOf={refOf} />
      {about.ahead_count > 0 && (
        <People title={about.ahead_count === 1 ? "1 gang goes before it" : `${about.ahead_count} gangs go before it`} ids={about.ahead} all={about.ahead_count} />
      )}
      {about.holder_count > 0 && (
        <People title="They hold what it needs" ids={about.holders} all={about.holder_count} />
      )}
      <Obstacles counts={about.histogram} />
      {Object.keys(about.closed).length > 0 && (
        <section>
          <h3>Closed nodes</h3>
          <ul className="lines">
            {Object.entries(about.closed).map(([node, cause]) => (
              <li key={node}>
                {asked ? (
                  <Name text={node} most={60} />
                ) : (
                  <Link to="/fleet" search={{ node }}>
                    <Name text={node} most={60} />
                  </Link>
                )}{" "}
                {harmless(cause, 300)}
              </li>
            ))}
          </ul>
        </section>
      )}
      {about.preemptions > 0 && (
        <p>
          It was stopped for others {plural(about.preemptions, "time")}; {hours(about.lost_gpu_ms / 3_600_000)}{" "}
          GPU-hours were lost by that.
        </p>
      )}
    </article>
  );
}

/** Whether the scheduler of the cluster has answered, else why not and how old this is; and the command that asks it. */
function There({ refOf, asked }: { refOf: string; asked: AskedScheduler }) {
  const found = useQuery(workload(refOf));
  const there = found.data && clusterOf(found.data);
  return (
    <section>
      {asked.answered ? (
        <p className="quiet">
          The scheduler of the cluster {harmless(asked.cluster, 63)} said so <Time at={asked.at} exact />.
        </p>
      ) : (
        <p className="notice warn">
          {asked.at ? (
            <>
              The scheduler of the cluster {harmless(asked.cluster, 63)} sent this <Time at={asked.at} exact />.
            </>
          ) : (
            `The scheduler of the cluster ${harmless(asked.cluster, 63)} sent this.`
          )}{" "}
          What would start it is not known here: {harmless(asked.trouble, 500)}.{asked.hint && ` Hint: ${harmless(asked.hint, 300)}.`}
        </p>
      )}
      {there && <Command line={askThere("why", there)} label="Ask its scheduler" />}
    </section>
  );
}

function Start({ about }: { about: Explained }) {
  return (
    <section>
      <h3>When it starts</h3>
      {about.start ? (
        <BandLine band={about.start} />
      ) : (
        <p>
          Unknown
          {about.guesses.length > 0 && (
            <>
              : it hangs on work without a time limit or finished runs like it, as{" "}
              {about.guesses.slice(0, 3).map((each, n) => (
                <span key={each}>
                  {n > 0 && ", "}
                  <Job id={each} />
                </span>
              ))}
            </>
          )}
          .
        </p>
      )}
      {about.reserved_ms > 0 && (
        <p>
          A place is reserved for it from <Time at={about.reserved_ms} exact />.
        </p>
      )}
      {about.deadline_ms > 0 && (
        <p>
          Deadline <Time at={about.deadline_ms} exact />
          {about.chance && <>; to meet it is {about.chance === "even" ? "as likely as not" : about.chance}</>}.
        </p>
      )}
      {about.next_raise && (
        <p>
          Waiting raises its priority to {about.next_raise.to} <Time at={about.next_raise.at} />.
        </p>
      )}
    </section>
  );
}

function BandLine({ band }: { band: Band }) {
  return (
    <p>
      As likely as not by <Time at={band.p50} exact estimate />; nine times in ten by <Time at={band.p90} exact estimate />. An
      estimate, not a reservation.
    </p>
  );
}

function Suggestions(props: { about: Explained; clone: boolean; asked: AskedScheduler | null; refOf: string }) {
  const { about, clone, asked, refOf } = props;
  if (!about.suggestions.length) return null;
  return (
    <section>
      <h3>What would start it</h3>
      <p className="quiet">
        {asked ? "Its scheduler tried each on a copy of its state. The cluster makes the change, this server none." : "Each was tried on a copy of the present state."}
      </p>
      <ul className="lines">
        {about.suggestions.map((each) => (
          <li key={each.change}>
            {harmless(each.change, 500)}{" "}
            {!asked && <Apply job={about.gang.replace(/\/\d+$/, "")} gang={about.gang} about={each} />}
            <Touched what="stops or moves" ids={each.stops} />
            <Touched what="awaits the end of" ids={each.awaits} />
            {asked && <ApplyThere about={each} asked={asked} refOf={refOf} />}
          </li>
        ))}
      </ul>
      {clone && (
        <Link className="button small" to="/submit" search={{ from: about.gang.replace(/\/\d+$/, "") }}>
          Clone and change
        </Link>
      )}
    </section>
  );
}

/** How a suggestion is carried out in a cluster. */
function ApplyThere({ about, asked, refOf }: { about: Suggestion; asked: AskedScheduler; refOf: string }) {
  const found = useQuery(workload(refOf));
  const there: Elsewhere | undefined = found.data && clusterOf(found.data);
  if (!there) return null;
  const line = changeThere(about, there, asked.pods);
  if (line) return <Command line={line} label="In the cluster" />;
  if (about.pods || about.gpus) return <span className="quiet">It has to be created anew with that.</span>;
  return null;
}

function Job({ id }: { id: string }) {
  return (
    <Link to="/workloads/$ref" params={{ ref: id.replace(/\/\d+$/, "") }}>
      <Name text={id.replace(/\/0$/, "")} most={64} />
    </Link>
  );
}

/** Whom a suggestion touches. */
export function Touched({ what, ids }: { what: string; ids: readonly string[] }) {
  if (!ids.length) return null;
  return (
    <span className="quiet">
      {what}{" "}
      {ids.slice(0, 10).map((each, n) => (
        <span key={each}>
          {n > 0 && ", "}
          <Job id={each} />
        </span>
      ))}
      {ids.length > 10 && ` and ${count(ids.length - 10)} more`}
    </span>
  );
}

function People({ title, ids, all }: { title: string; ids: readonly string[]; all: number }) {
  return (
    <section>
      <h3>{title}</h3>
      <p>
        {ids.map((each, n) => (
          <span key={each}>
            {n > 0 && ", "}
            <Job id={each} />
          </span>
        ))}
        {all > ids.length && (ids.length ? ` and ${count(all - ids.length)} more` : "Which they are, its scheduler says.")}
      </p>
    </section>
  );
}

function Obstacles({ counts }: { counts: Record<string, number> }) {
  const rows = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...rows.map(([, value]) => value));
  if (!rows.length) return null;
  return (
    <section>
      <h3>Nodes by the first obstacle</h3>
      <ul className="bars">
        {rows.map(([name, value]) => (
          <li key={name}>
            <span>{harmless(name, 120)}</span>
            <svg aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none">
              <rect className="fill" width={(100 * value) / most} height="8" />
            </svg>
            <span className="end">{plural(value, "node")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function words(key: string): string {
  return key.replace(/_(milli|mib|ms)$/, "").replaceAll("_", " ");
}

function measured(key: string, value: number): string {
  if (key.endsWith("_milli")) return gpus(value);
  if (key.endsWith("_mib")) return memory(value);
  if (key.endsWith("_ms")) return duration(value);
  return count(value);
}
