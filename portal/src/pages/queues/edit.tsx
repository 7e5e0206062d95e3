/** The rules of a queue, changed or made: fields and file side by side, and what it would change. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useMemo, useState, type ReactNode } from "react";
import { Button } from "react-aria-components";
import { stringify } from "yaml";
import { Problem, change } from "../../api/client";
import { ownFlavors } from "../../api/reads";
import type { PolicyOutcome, QueueView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Changes, Overtaken } from "../../ui/changes";
import { differences } from "../../ui/differences";
import { may } from "../../ui/may";
import { Command, Failure, Name } from "../../ui/parts";
import { harmless } from "../../ui/text";
import { fieldOf, parsed, withField, type Parsed, type Path, type Value } from "../submit/file";
import { mayBelow, possibleParents, type Rules } from "./may";
import { AMOUNTS, amountPath, lineOf, merged, nameIn, ownChanges, rowsOf, wrongOf } from "./rules";
import { Try } from "./try";
import type { Saved } from "./undo";

const PAUSE_MS = 400;
const STALE = 412;

interface Draft {
  text: string;
  /** Of the rules that it was written on top of; empty = there was no such queue. */
  etag: string;
  before: Rules;
}

interface EditorProps {
  items: readonly QueueView[];
  /** The queue that is changed; null = one is made. */
  present: QueueView | null;
  /** Of a new queue; empty = it is a root. */
  parent: string;
  done(saved: Saved): void;
  leave(): void;
}

function kept(key: string): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

export default function QueueEditor(props: EditorProps) {
  const { items, present, parent, leave } = props;
  const key = `queue-draft:${present ? present.name : `new:${parent}`}`;
  const usual = useMemo(
    () => stringify(present ? present.document : { name: "", ...(parent ? { parent } : {}) }, { lineWidth: 0 }),
    [present, parent],
  );
  const [draft, setDraft] = useState<Draft | null>(() => kept(key));
  const text = draft?.text ?? usual;
  const name = present ? present.name : nameIn(text);
  const file = useMemo(() => parsed(text), [text]);
  const taken = !present && items.some((each) => each.name === name);
  const overtaken = present !== null && draft !== null && draft.etag !== present.etag;
  const outcome = useCheck(name, draft && !taken ? file.body : null, present?.etag ?? "");
  const failed = outcome instanceof Error ? outcome : null;
  const wrong = wrongOf(failed);
  if (taken) wrong.set("name", "there is a queue of that name");
  const changed = outcome && !failed ? ownChanges((outcome as PolicyOutcome).changes, name) : [];

  useEffect(() => {
    if (draft) sessionStorage.setItem(key, JSON.stringify(draft));
    else sessionStorage.removeItem(key);
  }, [draft, key]);

  const write = (next: string) =>
    setDraft((was) => ({
      text: next,
      etag: was ? was.etag : (present?.etag ?? ""),
      before: was ? was.before : (present?.document ?? {}),
    }));
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Error | null>(null);
  const queries = useQueryClient();
  const save = async () => {
    if (!draft || !file.body) return;
    setBusy(true);
    setRefused(null);
    try {
      const made = await change<QueueView>("PUT", `/queues/${encodeURIComponent(name)}`, file.body, draft.etag ? { etag: draft.etag } : { fresh: true });
      setDraft(null);
      sessionStorage.removeItem(key);
      await queries.invalidateQueries({ queryKey: ["queues"] });
      props.done({ name, said: draft.etag ? "was changed" : "was added", document: draft.etag ? draft.before : null, etag: made.etag });
    } catch (error) {
      if (error instanceof Problem && error.status === STALE) await queries.invalidateQueries({ queryKey: ["queues"] });
      setRefused(error as Error);
    } finally {
      setBusy(false);
    }
  };
  const ready = Boolean(draft && outcome && !failed && !overtaken && !taken && name && (changed.length || !present));
  return (
    <>
      <h1>{present ? <>Change <Name text={present.name} most={60} /></> : "Add a queue"}</h1>
      <p className="lead">Checked while you write, and set only when you save. Work that runs is not stopped by saving; others may reclaim what is borrowed.</p>
      {overtaken && draft && (
        <Overtaken
          what="queue"
          user=""
          changes={differences(draft.before, present.document)}
          mine={() =>
            setDraft({
              text: file.body ? stringify(merged(draft.before, file.body, present.document), { lineWidth: 0 }) : draft.text,
              etag: present.etag,
              before: present.document,
            })
          }
          theirs={() => setDraft(null)}
        />
      )}
      <div className="submit">
        <Fields {...props} file={file} name={name} wrong={wrong} set={(path, value) => write(withField(text, path, value))} />
        <label className="editor">
          <span>Rules of the queue (YAML)</span>
          <textarea
            rows={16}
            spellCheck={false}
            autoCapitalize="none"
            value={text}
            aria-invalid={Boolean(file.trouble) || failed !== null}
            aria-describedby="rules-trouble"
            onChange={(event) => write(event.target.value)}
          />
          <span id="rules-trouble" className="error">
            {file.trouble}
          </span>
          <span>Preemption, the order of flavors and rules of kinds are written here.</span>
        </label>
        <section className="verdict" aria-label="What it would change" aria-live="polite">
          <h2>What it would change</h2>
          {failed && <Failure error={failed} />}
          {!draft && <p className="quiet">{present ? "Nothing: these are its rules." : "Give it a name, and what it is guaranteed."}</p>}
          {draft && !outcome && <p className="quiet">{taken ? "There is a queue of that name." : name ? "Being checked …" : "Give it a name."}</p>}
          {outcome && !failed && (
            <>
              {(outcome as PolicyOutcome).warnings.map((each) => (
                <p key={each} className="notice warn">
                  {harmless(each, 500)}
                </p>
              ))}
              {changed.length ? <Changes changes={changed} label="Changes of yours" /> : <p className="quiet">{present ? "Nothing." : "A queue without guarantees."}</p>}
            </>
          )}
          {refused && <Failure error={refused} />}
          <div className="buttons">
            <Button className="primary" isDisabled={!ready || busy} onPress={() => void save()}>
              Save
            </Button>
            {ready && <Try name={name} rules={file.body} />}
            <Button
              onPress={() => {
                setDraft(null);
                sessionStorage.removeItem(key);
                leave();
              }}
            >
              {draft ? "Discard" : "Back"}
            </Button>
          </div>
          <Command line={lineOf(name, changed)} />
        </section>
      </div>
    </>
  );
}

/** What the server says of rules a moment after they were written. */
function useCheck(name: string, body: Rules | null, etag: string): PolicyOutcome | Error | null {
  const [outcome, setOutcome] = useState<PolicyOutcome | Error | null>(null);
  const asked = useMemo(() => (name && body ? JSON.stringify(body) : ""), [name, body]);
  useEffect(() => {
    setOutcome(null);
    if (!asked) return;
    const stopped = new AbortController();
    const timer = setTimeout(() => {
      change<PolicyOutcome>("POST", `/queues/${encodeURIComponent(name)}/check`, JSON.parse(asked), { signal: stopped.signal }).then(
        setOutcome,
        (error: Error) => {
          if (!stopped.signal.aborted) setOutcome(error);
        },
      );
    }, PAUSE_MS);
    return () => (clearTimeout(timer), stopped.abort());
  }, [asked, name, etag]);
  return outcome;
}

function Fields(
  props: EditorProps & { file: Parsed; name: string; wrong: ReadonlyMap<string, string>; set(path: Path, value: Value): void },
) {
  const { file, wrong, set, present, items, name } = props;
  const { me } = useVisitor();
  const known = useQuery({ ...ownFlavors, enabled: may(me, "view") });
  const rows = rowsOf(file, known.data?.items.filter((each) => each.gpu_total_milli).map((each) => each.flavor) ?? []);
  const input = (label: string, path: Path, hint: string) => (
    <Labelled label={label} wrong={wrong.get(path.join("."))}>
      {(more) => (
        <input
          {...more}
          value={fieldOf(file, path)}
          placeholder={hint}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => set(path, event.target.value)}
        />
      )}
    </Labelled>
  );
  const parents = possibleParents(items, present?.name ?? "", me);
  const parent = fieldOf(file, ["parent"]);
  return (
    <fieldset className="fields queue-fields" disabled={Boolean(file.document.errors.length)}>
      <legend>Common fields{file.document.errors.length ? " (the file has an error)" : ""}</legend>
      {!present && input("Name", ["name"], "letters, digits, dashes")}
      <Labelled label="Parent" wrong={wrong.get("parent")}>
        {(more) => (
          <select {...more} value={parent} onChange={(event) => set(["parent"], event.target.value)}>
            {(mayBelow(me, []) || !parent) && <option value="">none: a root</option>}
            {parent && !parents.some((each) => each.name === parent) && <option value={parent}>{harmless(parent, 60)}</option>}
            {parents.map((each) => (
              <option key={each.name} value={each.name}>
                {harmless(each.name, 60)}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {input("Weight beyond quotas", ["weight"], "1")}
      {input("Priority", ["priority"], "100")}
      {input("Waiting at most", ["max_pending"], "any number")}
      <Labelled label="Strict order" wrong={wrong.get("strict")}>
        {(more) => (
          <select
            {...more}
            value={fieldOf(file, ["strict"])}
            onChange={(event) => set(["strict"], event.target.value && event.target.value === "true")}
          >
            <option value="">by the policy</option>
            <option value="true">yes: later ones wait too</option>
            <option value="false">no: later ones may pass</option>
          </select>
        )}
      </Labelled>
      <Amounts rows={rows} file={file} wrong={wrong} set={set} name={name} />
    </fieldset>
  );
}

function Labelled(props: {
  label: string;
  wrong: string | undefined;
  children(more: { id: string; "aria-invalid": boolean; "aria-describedby": string | undefined }): ReactNode;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      {props.children({ id, "aria-invalid": Boolean(props.wrong), "aria-describedby": props.wrong && `${id}-wrong` })}
      {props.wrong && (
        <span id={`${id}-wrong`} className="error">
          {harmless(props.wrong, 300)}
        </span>
      )}
    </div>
  );
}

/** GPUs by flavor, one row each. */
function Amounts(props: {
  rows: readonly string[];
  file: Parsed;
  name: string;
  wrong: ReadonlyMap<string, string>;
  set(path: Path, value: Value): void;
}) {
  const { file, rows, set } = props;
  const id = useId();
  const { me } = useVisitor();
  // What concerns the work of other queues is for those who change every queue.
  const columns = AMOUNTS.filter(({ key }) => me.every_queue || key !== "lend_limit");
  const wrongAt = (key: string, flavor: string) => props.wrong.get(`${key}.${flavor}`) ?? props.wrong.get(`${key}.${flavor}.gpus`);
  const said = rows.flatMap((flavor) =>
    columns.flatMap(({ key, title }) => {
      const found = wrongAt(key, flavor);
      return found ? [{ id: `${id}-${key}-${flavor}`, text: `${title}, ${flavor}: ${found}` }] : [];
    }),
  );
  return (
    <>
      <table className="amounts">
        <caption>GPUs by flavor</caption>
        <thead>
          <tr>
            <th scope="col">Flavor</th>
            {columns.map(({ key, title, hint }) => (
              <th key={key} scope="col" title={hint}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((flavor) => (
            <tr key={flavor}>
              <th scope="row">{flavor === "*" ? "all together" : <Name text={flavor} most={24} />}</th>
              {columns.map(({ key, title, hint }) => {
                const path = amountPath(file, key, flavor);
                return (
                  <td key={key}>
                    <input
                      value={fieldOf(file, path)}
                      inputMode="decimal"
                      autoComplete="off"
                      aria-label={`${title} of ${flavor === "*" ? "all flavors together" : harmless(flavor, 60)}: ${hint}`}
                      aria-invalid={wrongAt(key, flavor) !== undefined}
                      aria-describedby={wrongAt(key, flavor) && `${id}-${key}-${flavor}`}
                      onChange={(event) => set(path, event.target.value)}
                    />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {said.map((each) => (
        <span key={each.id} id={each.id} className="error">
          {harmless(each.text, 300)}
        </span>
      ))}
    </>
  );
}
