/** The policy: what is in force, what was, and setting another one without losing what others set. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "react-aria-components";
import { stringify } from "yaml";
import { change, get, Problem } from "../../api/client";
import { policy, policyVersions } from "../../api/reads";
import type { PolicyOutcome, PolicyView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Changes, Overtaken } from "../../ui/changes";
import { Confirm } from "../../ui/confirm";
import { Listing } from "../../ui/listing";
import { may } from "../../ui/may";
import { plural } from "../../ui/numbers";
import { Command, Empty, Failure, Loading, Name, Time } from "../../ui/parts";
import { Side } from "../../ui/side";
import type { Column } from "../../ui/table";
import { harmless } from "../../ui/text";
import { remember } from "../../ui/undo";
import type { PolicyVersion } from "../../api/schema";
import type { TabProps } from "./admin";
import { keepQuestion } from "../whatif/asked";
import { differences } from "../../ui/differences";

const KEPT = "policy-draft";
const PAUSE_MS = 400;
const STALE = 412;

interface Draft {
  text: string;
  /** What it was written on top of. */
  etag: string;
  document: Record<string, unknown>;
}

function kept(): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

export default function Policy(props: TabProps) {
  const found = useQuery(policy);
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the policy" />;
  return (
    <>
      <h2 className="sr">Policy</h2>
      <Editor present={found.data} />
      <History {...props} present={found.data} />
    </>
  );
}

/** The way back is a rollback; before the first version there is none. */
async function rememberPolicy(before: number, outcome: PolicyOutcome): Promise<void> {
  const made = await get("/policy");
  if (!before || made.version !== outcome.version) return; // none, or another is in force already
  remember({
    said: `Policy version ${made.version} was set.`,
    undo: () => change("POST", "/policy/rollback", { version: before }, { etag: made.etag }),
    present: async () => {
      const now = await get("/policy");
      return `version ${now.version}, set by ${now.user || "the server"}`;
    },
    reads: ["policy", "queues"],
  });
}

function Editor({ present }: { present: PolicyView }) {
  const { me } = useVisitor();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Draft | null>(kept);
  const [outcome, setOutcome] = useState<PolicyOutcome | Error | null>(null);
  const text = draft?.text ?? present.text;
  const allowed = may(me, "policy");
  const overtaken = draft !== null && draft.etag !== present.etag;

  useEffect(() => {
    if (draft) sessionStorage.setItem(KEPT, JSON.stringify(draft));
    else sessionStorage.removeItem(KEPT);
  }, [draft]);

  useEffect(() => {
    setOutcome(null);
    if (!draft?.text.trim()) return;
    const stopped = new AbortController();
    const timer = setTimeout(() => {
      change<PolicyOutcome>("POST", "/policy/check", { text: draft.text }, { signal: stopped.signal }).then(
        setOutcome,
        (error: Error) => {
          if (error.name !== "AbortError") setOutcome(error);
        },
      );
    }, PAUSE_MS);
    return () => (clearTimeout(timer), stopped.abort());
  }, [draft, present.etag]);

  const write = (next: string) =>
    setDraft((was) => ({ text: next, etag: was?.etag ?? present.etag, document: was?.document ?? present.document }));
  const apply = async () => {
    if (!draft) return;
    try {
      const made = await change<PolicyOutcome>("PUT", "/policy", { text: draft.text }, { etag: draft.etag });
      await rememberPolicy(present.version, made);
      setDraft(null);
    } catch (error) {
      if (error instanceof Problem && error.status === STALE) await queries.invalidateQueries({ queryKey: ["policy"] });
      throw error;
    }
    await queries.invalidateQueries({ queryKey: ["policy"] });
  };
  const changed = outcome && !(outcome instanceof Error) ? outcome.changes : [];
  return (
    <section aria-label="The policy in force">
      <p className="lead">
        {present.version ? (
          <>
            Version {present.version}, {harmless(present.cause, 100)} by <Name text={present.user || "the server"} most={40} />{" "}
            <Time at={present.at} />.
          </>
        ) : (
          "The built-in policy decides; no other was set."
        )}{" "}
        What is written here is checked while you write, and set only when you say so.
      </p>
      {overtaken && draft && (
        <Overtaken
          what="policy"
          user={present.user}
          changes={differences(draft.document, present.document)}
          mine={() => setDraft({ text: draft.text, etag: present.etag, document: present.document })}
          theirs={() => setDraft(null)}
        />
      )}
      <div className="policy">
        <label className="editor">
          <span>Policy file (YAML)</span>
          <textarea
            rows={20}
            spellCheck={false}
            autoCapitalize="none"
            readOnly={!allowed}
            value={text}
            aria-invalid={outcome instanceof Error}
            onChange={(event) => write(event.target.value)}
          />
        </label>
        <section className="verdict" aria-label="What it would change" aria-live="polite">
          <h3>What it would change</h3>
          {outcome instanceof Error && <Failure error={outcome} />}
          {!draft && <p className="quiet">Nothing: this is what is in force.</p>}
          {draft && !outcome && <p className="quiet">{draft.text.trim() ? "Being checked …" : "An empty file is no policy."}</p>}
          {outcome && !(outcome instanceof Error) && (
            <>
              {outcome.warnings.map((each) => (
                <p key={each} className="notice warn">
                  {harmless(each, 500)}
                </p>
              ))}
              {changed.length ? <Changes changes={changed} label="Changes of yours" /> : <p className="quiet">Nothing.</p>}
            </>
          )}
          {allowed && (
            <div className="buttons">
              <Confirm
                label="Set this policy"
                primary={draft !== null}
                title={`Let it decide from now on?`}
                line="ganglion policy apply policy.yaml"
                incomplete={!draft || overtaken || outcome instanceof Error || !outcome}
                act={apply}
              >
                <p>
                  {plural(changed.length, "change")}. Jobs that run are not disturbed. Another policy can take its place, or
                  this one be rolled back.
                </p>
                {overtaken && <p className="notice warn">It was changed meanwhile: look at the difference first.</p>}
              </Confirm>
              {draft && !(outcome instanceof Error) && (
                <Link className="button" to="/what-if" onClick={() => keepQuestion({ policy: draft.text })}>
                  Try it on the past
                </Link>
              )}
              {draft && <Button onPress={() => setDraft(null)}>Discard</Button>}
              {!text.trim() && (
                <Button onPress={() => write(stringify(present.document))}>Begin with every setting</Button>
              )}
            </div>
          )}
          <Command line="ganglion policy check policy.yaml" />
        </section>
      </div>
    </section>
  );
}

const COLUMNS: readonly Column<PolicyVersion>[] = [
  { key: "version", title: "Version", width: "5.5rem", align: "end", value: (row) => row.version, cell: (row) => row.version },
  { key: "at", title: "Set", width: "9rem", value: (row) => new Date(row.at).toISOString(), cell: (row) => <Time at={row.at} /> },
  { key: "user", title: "By", width: "minmax(6rem, 1fr)", value: (row) => row.user, cell: (row) => <Name text={row.user || "the server"} most={40} /> },
  { key: "cause", title: "How", width: "minmax(7rem, 1.5fr)", wide: true, value: (row) => row.cause, cell: (row) => harmless(row.cause, 100) },
  {
    key: "changes",
    title: "Changes",
    width: "minmax(6rem, 3fr)",
    wide: true,
    value: (row) => row.changes.length,
    cell: (row) => (row.changes.length ? harmless(`${row.changes.length}: ${row.changes.map((each) => each.key).join(", ")}`, 200) : "none"),
  },
];

function History({ search, set, present }: TabProps & { present: PolicyView }) {
  const found = useQuery(policyVersions);
  const rows = found.data && [...found.data.items].reverse();
  const chosen = rows?.find((each) => String(each.version) === search.at);
  return (
    <section aria-label="Former policies">
      <h2>History</h2>
      <Listing
        nested
        title="Versions"
        lead="Every policy that was set, the newest first. None is ever lost."
        file="policy-versions"
        rows={rows}
        error={found.error}
        columns={COLUMNS}
        id={(row) => String(row.version)}
        words={(row) => [row.user, row.cause, ...row.changes.map((each) => each.key)]}
        search={search}
        set={set}
        line="ganglion policy history"
        empty={
          <Empty title="No policy was set">
            <p>The built-in one decides.</p>
          </Empty>
        }
        panel={chosen && <VersionPanel row={chosen} present={present} close={() => set({ at: undefined })} />}
      />
    </section>
  );
}

function VersionPanel({ row, present, close }: { row: PolicyVersion; present: PolicyView; close(): void }) {
  const { me } = useVisitor();
  const queries = useQueryClient();
  const found = useQuery({
    queryKey: ["policy", "version", String(row.version)],
    queryFn: ({ signal }) => get("/policy/versions/{number}", { number: String(row.version) }, {}, signal),
  });
  const back = () =>
    change<PolicyOutcome>("POST", "/policy/rollback", { version: row.version }, { etag: present.etag }).then(async (made) => {
      await rememberPolicy(present.version, made);
      await queries.invalidateQueries({ queryKey: ["policy"] });
    });
  return (
    <Side label="Version" title={`Version ${row.version}`} close={close}>
      <p>
        {harmless(row.cause, 200)} by <Name text={row.user || "the server"} most={60} /> <Time at={row.at} exact />
      </p>
      {row.changes.length > 0 && <Changes changes={row.changes} label="Changes of this version" />}
      {found.data && (
        <pre className="code" tabIndex={0} aria-label="The file">
          {found.data.text.split("\n").map((each) => harmless(each, 2000)).join("\n") || "(no file was kept)"}
        </pre>
      )}
      {may(me, "policy") && row.version !== present.version && (
        <div className="buttons">
          <Confirm
            label="Roll back"
            title={`Let version ${row.version} decide again?`}
            line={`ganglion policy rollback ${row.version}`}
            act={back}
          >
            <p>It becomes a new version; the one in force stays in the history.</p>
            {found.data && <Changes changes={differences(present.document, found.data.document)} label="What it would change" />}
          </Confirm>
        </div>
      )}
      <Command line={`ganglion policy show ${row.version} --source`} />
    </Side>
  );
}
