/** A workload file, what would become of it now, and its submission. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "react-aria-components";
import { stringify } from "yaml";
import { Problem, change } from "../../api/client";
import { queues, workload } from "../../api/reads";
import type { Accepted, Verdict } from "../../api/schema";
import { Command, Failure, Name } from "../../ui/parts";
import { count, plural } from "../../ui/numbers";
import { atMost } from "../../ui/cost";
import { heldBy, isOf, type Plan } from "./plan";
import { harmless, word } from "../../ui/text";
import { FIELDS, fieldOf, parsed, withField } from "./file";
import { withCount } from "../workload/suggested";
import { Touched } from "../workload/why";
import { Displaces, Starts } from "./prospect";
import { TEMPLATES } from "./templates";

const route = getRouteApi("/submit");
const KEPT = "submit";
const QUIET_MS = 500;
/** The server's word for a plan that does not hold any more. */
const OVERTAKEN = "state.plan";

/** What was written last is there after a reload, or a new session. */
function draft(): string {
  return sessionStorage.getItem(KEPT) ?? TEMPLATES[0]?.text ?? "";
}

export function SubmitPage() {
  const { template, from, nodes, gpus } = route.useSearch();
  const go = route.useNavigate();
  const [text, setText] = useState(draft);
  const [forced, setForced] = useState(false);
  const copied = useQuery({ ...workload(from ?? ""), enabled: Boolean(from) });
  const taken = useRef("");

  useEffect(() => {
    const wanted = from && copied.data ? `from:${from}` : template ? `template:${template}` : "";
    if (!wanted || wanted === taken.current) return;
    taken.current = wanted;
    if (from && copied.data)
      setText(withWishes(stringify(copied.data.document, { lineWidth: 0 }), nodes, gpus));
    else {
      const found = TEMPLATES.find((each) => each.id === template);
      if (found) setText(found.text);
    }
  }, [from, template, copied.data, nodes, gpus]);
  useEffect(() => sessionStorage.setItem(KEPT, text), [text]);

  const file = useMemo(() => parsed(text), [text]);
  const [plan, again] = usePlan(file.body);
  const agreed = heldBy(plan, file.body);
  const [overtaken, setOvertaken] = useState("");
  const never =
    (plan.step === "told" && plan.verdict.reason?.never) ||
    (plan.step === "wrong" && plan.error instanceof Problem && plan.error.code === "input.never");
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const key = useRef("");

  const submit = async () => {
    setBusy(true);
    setError(null);
    setOvertaken("");
    key.current ||= crypto.randomUUID(); // repeated after a lost answer, it is submitted once
    try {
      const made = await change<Accepted>("POST", "/workloads", file.body, {
        key: key.current,
        query: { force: forced || undefined, if_plan: agreed || undefined },
      });
      sessionStorage.removeItem(KEPT);
      await go({ to: "/workloads/$ref", params: { ref: made.id } });
    } catch (found) {
      // A refusal is an answer; where none came, the same submission is tried again.
      if (found instanceof Problem) key.current = "";
      if (found instanceof Problem && found.code === OVERTAKEN) {
        setOvertaken(text);
        again();
      } else setError(found as Error);
    } finally {
      setBusy(false);
    }
  };

  return (
    <>
      <h1>Submit</h1>
      <p className="lead">
        A workload file, and what would become of it now. Nothing is submitted while you write.
      </p>
      <div className="buttons" role="group" aria-label="Templates">
        {TEMPLATES.map((each) => (
          <Link key={each.id} to="/submit" search={{ template: each.id }} className="button small">
            {each.title}
          </Link>
        ))}
      </div>
      {copied.error && <Failure error={copied.error} />}
      <div className="submit">
        <Fields text={text} set={setText} />
        <label className="editor">
          <span>Workload file (YAML)</span>
          <textarea
            value={text}
            spellCheck={false}
            autoCapitalize="none"
            rows={18}
            aria-invalid={Boolean(file.trouble)}
            aria-describedby="file-trouble"
            onChange={(event) => setText(event.target.value)}
          />
          <span id="file-trouble" className="error">
            {file.trouble}
          </span>
        </label>
        <section className="verdict" aria-label="What would happen" aria-live="polite">
          <h2>If submitted now</h2>
          {overtaken === text && (
            <p className="notice warn" role="alert">
              <strong>What would become of it is another by now</strong> than was shown, so nothing was submitted. This is
              how it is now: submit again if that will do.
            </p>
          )}
          {plan.step === "told" && file.body && !isOf(plan, file.body) && (
            <p className="quiet">Of the file as it was before; what is written now is being tried …</p>
          )}
          <PlanPanel plan={plan} />
          {error && <Failure error={error} />}
          {(never || forced) && (
            <label className="check">
              <input type="checkbox" checked={forced} onChange={(event) => setForced(event.target.checked)} />
              Take it although it could never start now
            </label>
          )}
          <div className="buttons">
            <Button className="primary" isDisabled={busy || !file.body} onPress={() => void submit()}>
              Submit
            </Button>
          </div>
          <Command line={`ganglion submit ${word(`${fieldOf(file, ["name"]) || "workload"}.yaml`)}`} />
        </section>
      </div>
    </>
  );
}

/** A copied file with what a suggestion changes. */
function withWishes(text: string, nodes: number | undefined, gpus: number | undefined): string {
  const nodal = nodes ? withField(text, ["nodes"], String(nodes)) : text;
  const path = ["resources", "gpus"] as const;
  return gpus ? withField(nodal, path, withCount(fieldOf(parsed(nodal), path), gpus)) : nodal;
}

function Fields({ text, set }: { text: string; set(text: string): void }) {
  const file = useMemo(() => parsed(text), [text]);
  const known = useQuery(queues);
  const leaves = known.data?.items.filter((each) => each.leaf) ?? [];
  const broken = Boolean(file.document.errors.length);
  return (
    <fieldset className="fields" disabled={broken}>
      <legend>Common fields{broken ? " (the file has an error)" : ""}</legend>
      {FIELDS.map(({ path, label, hint }) => (
        <label key={label}>
          {label}
          <input
            value={fieldOf(file, path)}
            placeholder={hint}
            spellCheck={false}
            autoComplete="off"
            list={label === "Queue" ? "queues" : undefined}
            onChange={(event) => set(withField(text, path, event.target.value))}
          />
        </label>
      ))}
      <datalist id="queues">
        {leaves.map((each) => (
          <option key={each.name} value={each.name} />
        ))}
      </datalist>
    </fieldset>
  );
}

/** What would become of a file, and what asks for it anew. */
function usePlan(body: Record<string, unknown> | null): [Plan, () => void] {
  const [plan, setPlan] = useState<Plan>({ step: "none" });
  const [turn, setTurn] = useState(0);
  const asked = useMemo(() => (body ? JSON.stringify(body) : ""), [body]);
  useEffect(() => {
    if (!asked) {
      setPlan({ step: "none" });
      return;
    }
    const stopped = new AbortController();
    setPlan((was) => (was.step === "told" ? was : { step: "asking" }));
    const timer = setTimeout(() => {
      change<Verdict>("POST", "/workloads", JSON.parse(asked), {
        query: { dry_run: true },
        signal: stopped.signal,
      }).then(
        (verdict) => setPlan({ step: "told", verdict, of: asked }),
        (error: Error) => {
          if (!stopped.signal.aborted) setPlan({ step: "wrong", error });
        },
      );
    }, QUIET_MS);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [asked, turn]);
  return [plan, useCallback(() => setTurn((was) => was + 1), [])];
}

function PlanPanel({ plan }: { plan: Plan }) {
  if (plan.step === "none") return <p className="quiet">Write a file to see where it would start.</p>;
  if (plan.step === "asking") return <p className="quiet">Trying it on a copy of the present state …</p>;
  if (plan.step === "wrong") return <Failure error={plan.error} />;
  const { placement, reason, displaced, suggestions, cost, model, gangs } = plan.verdict;
  const where = [...new Set(placement?.pods.map((pod) => pod.node))];
  return (
    <>
      {gangs > 1 && <p className="quiet">Of the first of its {count(gangs)} gangs.</p>}
      {placement ? (
        <p className="notice good">
          <strong>{displaced ? "Starts once others yield" : "Starts at once"}</strong> on {where.length ? <Name text={where.slice(0, 6).join(", ")} /> : "this fleet"}
          {where.length > 6 && ` and ${plural(where.length - 6, "further node")}`}
          {placement.level && <span className="quiet"> (within one {harmless(placement.level, 40)})</span>}
        </p>
      ) : (
        <p className={reason?.never ? "notice bad" : "notice warn"}>
          <strong>{reason?.never ? "Could never start" : "Waits"}</strong>
          {reason && `: ${harmless(reason.message, 1000)}`}
        </p>
      )}
      {!placement && <Starts verdict={plan.verdict} />}
      {displaced && <Displaces found={displaced} later={!placement} />}
      {(cost || model) && (
        <dl className="facts">
          {cost && (
            <div>
              <dt>cost</dt>
              <dd>{harmless(atMost(cost), 200)}</dd>
            </div>
          )}
          {model && (
            <div>
              <dt>model</dt>
              <dd>
                <code>{harmless(model.uri || model.reference, 300)}</code> {harmless(model.version, 80)}
              </dd>
            </div>
          )}
        </dl>
      )}
      {suggestions.length > 0 && (
        <>
          <h3>What would start it</h3>
          <ul className="lines">
            {suggestions.map((each) => (
              <li key={each.change}>
                {harmless(each.change, 500)} <Touched what="stops or moves" ids={each.stops} />
              </li>
            ))}
          </ul>
        </>
      )}
      <p className="quiet">An estimate for this moment, not a reservation.</p>
    </>
  );
}
