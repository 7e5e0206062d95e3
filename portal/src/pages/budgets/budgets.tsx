/** What queues may spend in a month, have spent, and may still spend. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { Button } from "react-aria-components";
import { budgets, queues } from "../../api/reads";
import type { BudgetLine } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { duration, money } from "../../ui/numbers";
import { Badge, Command, Empty, Failure, Loading, Name, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { word } from "../../ui/text";
import { mayBudget } from "../queues/may";
import { branches } from "../queues/tree";
import { BudgetEdit } from "./edit";
import { AskMore, BudgetRequests } from "./requests";

const route = getRouteApi("/budgets");

interface BudgetRow {
  queue: string;
  depth: number;
  line: BudgetLine | undefined;
}

export function BudgetsPage() {
  const { me } = useVisitor();
  const { queue: chosen, all } = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(budgets);
  const tree = useQuery(queues);
  const rows = useMemo(() => {
    const lines = new Map(found.data?.items.map((each) => [each.queue, each]));
    const listed: BudgetRow[] = branches(tree.data?.items ?? []).map(({ queue, depth }) => ({
      queue: queue.name,
      depth,
      line: lines.get(queue.name),
    }));
    const known = new Set(listed.map((each) => each.queue));
    // Queues of clusters, as `east:team`, are not among those of the server.
    const others = [...lines.values()].filter((each) => !known.has(each.queue));
    const away = others.map((line) => ({ queue: line.queue, depth: 0, line }));
    return [...(all ? listed : listed.filter((each) => each.line)), ...away];
  }, [found.data, tree.data, all]);
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (tree.error && !tree.data) return <Failure error={tree.error} />;
  if (!found.data || !tree.data) return <Loading what="the budgets" />;
  const { currency } = found.data;
  const changes = (name: string) => mayBudget(me, tree.data.items, name);
  const set = (more: { queue?: string | undefined; all?: true | undefined }) =>
    void go({ search: (was) => ({ ...was, ...more }), replace: true });
  const line = found.data.items.find((each) => each.queue === chosen);
  const picked =
    chosen !== undefined && (line !== undefined || tree.data.items.some((each) => each.name === chosen));
  return (
    <>
      <h1>Budgets</h1>
      <p className="lead">
        A job starts only if what was spent, what runs may still cost and what the job may cost fit into the
        budget of its queue and of every queue above it.
      </p>
      {!currency && (
        <p className="notice warn">
          There are no prices yet, so that nothing costs anything. Set one:{" "}
          <code>ganglion price set H100 2.50 --currency EUR</code>
        </p>
      )}
      <div className="filters">
        <label className="check">
          <input
            type="checkbox"
            checked={Boolean(all)}
            onChange={(event) => set({ all: event.target.checked || undefined })}
          />
          Queues without a budget too
        </label>
      </div>
      <div className={picked ? "listing split" : "listing"}>
        <div>
          {rows.length ? (
            <PlainTable
              label="Budgets"
              file="budgets"
              one="queue"
              className="budgets"
              columns={columnsOf(currency)}
              rows={rows}
              id={(row) => row.queue}
              chosen={chosen}
            />
          ) : (
            <Empty title="No queue has a budget">
              {tree.data.items.some((each) => changes(each.name)) ? (
                <p>
                  <Button onPress={() => set({ all: true })}>Choose a queue to give it one</Button>
                </p>
              ) : (
                <p>Nothing is bounded by money here. An administrator sets budgets.</p>
              )}
            </Empty>
          )}
          <Command line="ganglion budget list" />
        </div>
        {picked && (
          <BudgetPanel
            key={chosen}
            queue={chosen}
            line={line}
            currency={currency}
            changes={changes(chosen)}
            close={() => set({ queue: undefined })}
          />
        )}
      </div>
      <BudgetRequests changes={changes} />
    </>
  );
}

const sum = (line: BudgetLine) => line.micro + line.carried_micro + line.raised_micro;

function columnsOf(currency: string): readonly PlainColumn<BudgetRow>[] {
  const amount = (
    key: string,
    title: string,
    of: (line: BudgetLine) => number,
    wide = false,
  ): PlainColumn<BudgetRow> => ({
    key,
    title,
    align: "end",
    wide,
    value: ({ line }) => (line ? of(line) / 1e6 : null),
    cell: ({ line }) => (line ? money(of(line), currency) : "–"),
  });
  return [
    {
      key: "queue",
      title: "Queue",
      value: (row) => row.queue,
      cell: ({ queue, depth }) => (
        <span style={{ paddingInlineStart: `${depth * 1.25}rem` }}>
          <Link to="/budgets" search={(was) => ({ ...was, queue })} replace>
            <Name text={queue} most={48} />
          </Link>
        </span>
      ),
    },
    {
      key: "state",
      title: "Spent and reserved",
      value: ({ line }) => (line ? said(line) : "no budget"),
      cell: ({ line }) => (line ? <BudgetBar line={line} currency={currency} /> : <span className="quiet">no budget</span>),
    },
    amount("spent", "Spent", (line) => line.spent_micro, true),
    amount("reserved", "Reserved", (line) => line.reserved_micro, true),
    amount("limit", "Limit", sum, true),
    amount("left", "Left", (line) => line.left_micro),
    {
      key: "until",
      title: "Until",
      wide: true,
      value: ({ line }) => (line ? new Date(line.end).toISOString() : null),
      cell: ({ line }) => <Time at={line?.end} />,
    },
  ];
}

/** How a budget stands, in one word. */
export function said(line: BudgetLine): string {
  if (line.crossed >= 100) return "spent";
  if (line.left_micro <= 0) return "all spent or reserved";
  return line.crossed ? `over ${line.crossed} %` : "within";
}

function BudgetBar({ line, currency }: { line: BudgetLine; currency: string }) {
  const whole = Math.max(sum(line), line.spent_micro + line.reserved_micro, 1);
  const part = (micro: number) => (100 * micro) / whole;
  const words = `${money(line.spent_micro, currency)} spent and ${money(line.reserved_micro, currency)} reserved of ${money(sum(line), currency)}`;
  const tone = line.crossed >= 100 ? "bad" : line.crossed || line.left_micro <= 0 ? "wait" : "good";
  return (
    <span className="budget">
      <svg className="meter" role="img" aria-label={words} viewBox="0 0 100 8" preserveAspectRatio="none">
        <title>{words}</title>
        <rect className="track" width="100" height="8" />
        <rect className="fill" width={part(line.spent_micro)} height="8" />
        <rect className="soft" x={part(line.spent_micro)} width={part(line.reserved_micro)} height="8" />
        {line.warn.map((each) => (
          <rect key={each} className="mark" x={part((line.micro * each) / 100) - 0.3} width="0.6" height="8" />
        ))}
      </svg>
      <Badge text={said(line)} tone={tone} />
    </span>
  );
}

function BudgetPanel(props: {
  queue: string;
  line: BudgetLine | undefined;
  currency: string;
  changes: boolean;
  close(): void;
}) {
  const { queue, line, currency, changes } = props;
  return (
    <aside className="side" aria-label="Budget">
      <div className="side-head">
        <h2>
          <Name text={queue} most={60} />
        </h2>
        <Button className="small plain" onPress={props.close}>
          Close
        </Button>
      </div>
      {line ? <Standing line={line} currency={currency} /> : <p>It has no budget of its own; those above it count.</p>}
      {changes && <BudgetEdit queue={queue} line={line} />}
      <Command line={`ganglion budget show ${word(queue)}`} />
    </aside>
  );
}

function Standing({ line, currency }: { line: BudgetLine; currency: string }) {
  return (
    <>
      <p>
        {money(line.left_micro, currency)} of {money(sum(line), currency)} left: {money(line.spent_micro, currency)}{" "}
        spent, {money(line.reserved_micro, currency)} reserved for what runs.
      </p>
      <dl className="facts">
        <div>
          <dt>period</dt>
          <dd>
            a month of {line.zone}, until <Time at={line.end} exact />
          </dd>
        </div>
        {line.raised_micro !== 0 && (
          <div>
            <dt>approved beside it</dt>
            <dd>{money(line.raised_micro, currency)}, for this month</dd>
          </div>
        )}
        {line.carried_micro !== 0 && (
          <div>
            <dt>carried over</dt>
            <dd>{money(line.carried_micro, currency)}</dd>
          </div>
        )}
        <div>
          <dt>what is left of a month</dt>
          <dd>{line.carry_over ? "is added to the next" : "lapses"}</dd>
        </div>
        <div>
          <dt>people are notified at</dt>
          <dd>{line.warn.length ? line.warn.map((each) => `${each} %`).join(", ") : "no mark"}</dd>
        </div>
      </dl>
      <h3>At the limit</h3>
      {line.suspends_at ? (
        <p className="notice bad">
          It is spent: nothing starts, and from <Time at={line.suspends_at} exact /> on what runs is suspended at its
          next checkpoint.
        </p>
      ) : (
        <p>
          Nothing new starts once the limit is spent or reserved. What runs goes on for {duration(line.grace_ms)} after
          it is spent, and is then suspended at its next checkpoint.
        </p>
      )}
      <p>
        <AskMore queue={line.queue} />{" "}
        <Link className="button small" to="/usage" search={{ queue: line.queue, by: "user" }}>
          Who spent it
        </Link>
      </p>
    </>
  );
}
