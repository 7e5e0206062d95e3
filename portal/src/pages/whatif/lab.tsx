/** Questions about a past that was otherwise. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useEffect, useState, type FormEvent } from "react";
import { Button } from "react-aria-components";
import { change } from "../../api/client";
import { questions } from "../../api/reads";
import type { WhatIf } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { may } from "../../ui/may";
import { Badge, Command, Empty, Failure, Loading, Name, Time } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { harmless } from "../../ui/text";
import { NOTHING, commandOf, questionOf, type QuestionForm, keepQuestion, keptQuestion } from "./asked";

const route = getRouteApi("/what-if");
const TONES: Record<string, string> = { done: "good", failed: "bad", running: "busy", waiting: "wait" };

const COLUMNS: readonly Column<WhatIf>[] = [
  {
    key: "changes",
    title: "What was otherwise",
    width: "minmax(10rem, 3fr)",
    value: (row) => row.changes.join("; ") || "nothing",
    cell: (row) => (
      <Link to="/what-if/$question" params={{ question: row.id }} tabIndex={-1}>
        {harmless(row.changes.join("; ") || "nothing: how far it can be trusted", 200)}
      </Link>
    ),
  },
  {
    key: "state",
    title: "State",
    width: "8rem",
    narrow: "6rem",
    value: (row) => row.state,
    cell: (row) => <Badge text={row.state} tone={TONES[row.state] ?? "calm"} />,
  },
  { key: "user", title: "Asked by", width: "minmax(6rem, 1fr)", wide: true, value: (row) => row.user, cell: (row) => <Name text={row.user} most={40} /> },
  { key: "at", title: "Asked", width: "9rem", wide: true, value: (row) => new Date(row.at).toISOString(), cell: (row) => <Time at={row.at} /> },
  { key: "id", title: "Id", width: "8rem", wide: true, value: (row) => row.id, cell: (row) => row.id },
];

function draft(given: Partial<QuestionForm>): QuestionForm {
  return { ...NOTHING, ...keptQuestion(), ...given };
}

export function LabPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const { me } = useVisitor();
  const found = useQuery(questions);
  return (
    <>
      <h1>What if</h1>
      <p className="lead">
        The past of this server is replayed twice, as it was and with something changed. How far the first replay is
        from what happened is the error bar.
      </p>
      {!may(me, "view") && (
        <p className="lead">
          The replay runs with all work. Its answer names the work of your queues; of all others it has sums. You may try
          what you may set: rules of queues under yours.
        </p>
      )}
      <Ask />
      <section aria-label="Questions">
        <h2>Questions</h2>
        {found.error && <Failure error={found.error} />}
        {!found.data && !found.error && <Loading what="the questions" />}
        {found.data &&
          (found.data.items.length ? (
            <Table
              label="Questions"
              file="what-if"
              columns={COLUMNS}
              rows={found.data.items}
              id={(row) => row.id}
              onOpen={(row) => void go({ to: "/what-if/$question", params: { question: row.id } })}
              sort={search.sort}
              onSort={(sort) => void go({ search: (was) => ({ ...was, sort }), replace: true })}
            />
          ) : (
            <Empty title="Nothing was asked yet">
              <p>Ask without a change first: it says how well your past can be replayed.</p>
            </Empty>
          ))}
        <Command line="ganglion whatif list" />
      </section>
    </>
  );
}

function Ask() {
  const go = route.useNavigate();
  const queries = useQueryClient();
  const search = route.useSearch();
  const [form, setForm] = useState<QuestionForm>(() =>
    draft(Object.fromEntries(Object.entries(search).filter(([key]) => key in NOTHING))),
  );
  const { me } = useVisitor();
  const fleet = may(me, "view"); // policy, nodes and prices are those of the whole fleet
  const [wrong, setWrong] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => keepQuestion(form), [form]);
  const edit = (more: Partial<QuestionForm>) => setForm((was) => ({ ...was, ...more }));
  const ask = async (event: FormEvent) => {
    event.preventDefault();
    const asked = questionOf(form);
    setWrong(typeof asked === "string" ? asked : "");
    setError(null);
    if (typeof asked === "string") return;
    setBusy(true);
    try {
      const made = await change<WhatIf>("POST", "/whatif", asked);
      await queries.invalidateQueries({ queryKey: ["whatif"], exact: true });
      await go({ to: "/what-if/$question", params: { question: made.id } });
    } catch (found) {
      setError(found as Error);
    } finally {
      setBusy(false);
    }
  };
  const field = (key: keyof QuestionForm, label: string, hint: string) => (
    <label>
      {label}
      <input
        value={form[key]}
        placeholder={hint}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => edit({ [key]: event.target.value })}
      />
    </label>
  );
  const area = (key: keyof QuestionForm, label: string, hint: string) => (
    <label className="editor">
      {label}
      <textarea
        rows={6}
        value={form[key]}
        placeholder={hint}
        spellCheck={false}
        autoCapitalize="none"
        onChange={(event) => edit({ [key]: event.target.value })}
      />
    </label>
  );
  return (
    <form className="ask" onSubmit={(event) => void ask(event)}>
      <fieldset className="fields">
        <legend>The past</legend>
        {field("since", "Since", "7d, or 2026-11-01")}
        {field("until", "Until", "now")}
      </fieldset>
      <fieldset className="fields">
        <legend>What was otherwise</legend>
        {fleet && field("nodes", "Nodes", "+4xH100:8 join, -2xH100 leave")}
        {field("queues", "Queue settings", "research=quota:H100:16,weight:2")}
        {fleet && field("prices", "Prices of a GPU-hour", "H100=2.50")}
        {(!fleet || form.rules) && area("rules", "All rules of queues (YAML)", "research-a:\n  parent: research\n  weight: 2")}
      </fieldset>
      {fleet && (
        <fieldset className="fields">
          <legend>Another policy</legend>
          {area("policy", "Policy file (YAML)", "order: fifo")}
        </fieldset>
      )}
      <fieldset className="fields">
        <legend>One more workload</legend>
        {area("workload", "Workload file (YAML)", "run: sleep 600")}
        {field("at", "Submitted at", "24h (ago), or 2026-11-01T14:00Z")}
      </fieldset>
      <div className="ask-end">
        <p className="error" role="status">
          {wrong}
        </p>
        {error && <Failure error={error} />}
        <div className="buttons">
          <Button type="submit" className="primary" isDisabled={busy}>
            Ask
          </Button>
          <Button onPress={() => setForm(NOTHING)}>Clear</Button>
        </div>
        <Command line={commandOf(form)} />
      </div>
    </form>
  );
}
