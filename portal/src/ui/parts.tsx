/** Small parts that every page is made of. */
import { Fragment, useState, type ReactNode } from "react";
import { Button } from "react-aria-components";
import { Problem } from "../api/client";
import { useNow } from "./clock";
import { absolute, relative } from "./numbers";
import { useSettings } from "./settings";
import { harmless } from "./text";

/** A name that someone else chose. */
export function Name({ text, most }: { text: string; most?: number }) {
  const shown = harmless(text, most);
  return (
    <bdi className="name" title={shown === text && text.length < 24 ? undefined : harmless(text, 1000)}>
      {shown}
    </bdi>
  );
}

/** A moment, relative or as a date; the other one as its title. An estimate is said to the minute. */
export function Time(props: { at: number | null | undefined; exact?: boolean; estimate?: boolean }) {
  const { at, exact = false, estimate = false } = props;
  const now = useNow();
  const { zone } = useSettings();
  if (!at) return <span className="quiet">–</span>;
  const said = [relative(at, now), absolute(at, now, zone, estimate)];
  const iso = new Date(at).toISOString();
  return (
    <time dateTime={iso} title={`${exact ? said[0] : said[1]} · ${iso}`}>
      {exact ? (
        <>
          <span>{said[1]}</span> <span>({said[0]})</span>
        </>
      ) : (
        said[0]
      )}
    </time>
  );
}

const TONES: Record<string, string> = {
  RUNNING: "good",
  SUCCEEDED: "good",
  STARTING: "busy",
  STOPPING: "busy",
  QUEUED: "wait",
  SUSPENDED: "calm",
  CANCELLED: "calm",
  FAILED: "bad",
  TIMED_OUT: "bad",
  ready: "good",
  cordoned: "wait",
  draining: "wait",
  drained: "calm",
  lost: "bad",
  quarantined: "bad",
  planned: "wait",
  active: "busy",
  over: "calm",
};

/** A state or another short fact; names in capitals are written as words. */
export function Badge({ text, tone }: { text: string; tone?: string }) {
  const shown = harmless(text, 40);
  const words = shown === shown.toUpperCase() ? shown.toLowerCase() : shown;
  return <span className={`badge ${tone ?? TONES[text] ?? "calm"}`}>{words.replaceAll("_", " ")}</span>;
}

/** The state of work; of work in a cluster whose scheduler is silent, the one that it had. */
export function StateBadge({ of: { state, silent_since } }: { of: { state: string; silent_since?: number } }) {
  if (!silent_since) return <Badge text={state} />;
  return (
    <span title={`its scheduler has been silent since ${new Date(silent_since).toISOString()}`}>
      <Badge text={`was ${state.toLowerCase()}`} tone="calm" />
    </span>
  );
}

/** That what is shown of a cluster is as it was at a time. */
export function Silent({ cluster, since }: { cluster: string; since: number }) {
  return (
    <p className="notice warn" role="status">
      The scheduler of cluster <Name text={cluster} most={40} /> has been silent since <Time at={since} exact />. What is
      shown of its work is as it was then.
    </p>
  );
}

/** The command that does the same. */
export function Command({ line, label = "The same on the command line" }: { line: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = () =>
    navigator.clipboard.writeText(line).then(
      () => (setDone(true), setTimeout(() => setDone(false), 2_000)),
      () => undefined, // it can be selected
    );
  return (
    <div className="command" role="group" aria-label={label}>
      <code tabIndex={0} aria-label={label}>
        {harmless(line, 4000)
          .split(" ")
          .map((each, n) => (
            // A line of a command breaks between words, not within an option.
            <Fragment key={n}>
              {n > 0 && " "}
              <span>{each}</span>
            </Fragment>
          ))}
      </code>
      <Button className="small plain" onPress={() => void copy()}>
        {done ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Failure({ error }: { error: Error }) {
  const problem = error instanceof Problem ? error : null;
  return (
    <div className="notice bad" role="alert">
      <strong>{harmless(error.message, 2000)}</strong>
      {problem?.hint && <p>{harmless(problem.hint, 2000)}</p>}
      {problem && problem.errors.length > 1 && (
        <ul>
          {problem.errors.map((each, n) => (
            <li key={n}>
              <code>{harmless(each.key)}</code> {harmless(each.detail, 500)}
              {each.hint && <span className="quiet"> {harmless(each.hint, 500)}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p className="loading" role="status">
      Reading {what} …
    </p>
  );
}

export function Figure(props: { label: string; value: ReactNode; children?: ReactNode }) {
  return (
    <div className="figure">
      <dt>{props.label}</dt>
      <dd className="value">{props.value}</dd>
      {props.children && <dd className="quiet">{props.children}</dd>}
    </div>
  );
}

/** How much of a whole is used, said in words too. */
export function Meter(props: { label: string; used: number; of: number; mark?: number }) {
  const whole = Math.max(props.of, props.used, 1e-9);
  return (
    <svg className="meter" role="img" aria-label={props.label} viewBox="0 0 100 8" preserveAspectRatio="none">
      <rect className="track" width="100" height="8" />
      <rect className="fill" width={(100 * props.used) / whole} height="8" />
      {props.mark !== undefined && props.mark <= whole && (
        <rect className="mark" x={(100 * props.mark) / whole - 0.5} width="1" height="8" />
      )}
    </svg>
  );
}
