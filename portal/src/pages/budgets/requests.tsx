/** Requests for larger budgets: asking, and answering. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { change, part } from "../../api/client";
import { budgetRequests } from "../../api/reads";
import type { BudgetRequestView } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { money } from "../../ui/numbers";
import { Badge, Command, Failure, Name, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless, word } from "../../ui/text";
import { amountOf, microOf } from "./wish";

const TONES: Record<string, string> = { waiting: "wait", approved: "good", denied: "bad", over: "calm" };

type Changes = (queue: string) => boolean;

function columnsOf(currency: string, changes: Changes, answers: boolean): readonly PlainColumn<BudgetRequestView>[] {
  return [
    {
      key: "queue",
      title: "Queue",
      value: (row) => row.queue,
      cell: (row) => <Name text={row.queue} most={48} />,
    },
    {
      key: "amount",
      title: "More",
      align: "end",
      value: (row) => row.micro / 1e6,
      cell: (row) => money(row.micro, currency),
    },
    {
      key: "reason",
      title: "Why",
      value: (row) => row.reason,
      cell: (row) => (
        <>
          {harmless(row.reason, 200)}{" "}
          <span className="quiet">
            <Name text={row.by} most={40} />, <Time at={row.at} />
          </span>
        </>
      ),
    },
    {
      key: "state",
      title: "State",
      value: (row) => row.state,
      cell: (row) => (
        <>
          <Badge text={row.state} tone={TONES[row.state] ?? "calm"} />
          {row.answer && <span className="quiet"> {harmless(row.answer, 200)}</span>}
        </>
      ),
    },
    ...(answers
      ? [
          {
            key: "answer",
            title: "Answer",
            value: (row: BudgetRequestView) => row.answer,
            cell: (row: BudgetRequestView) => (row.state === "waiting" && changes(row.queue) ? <Answers row={row} currency={currency} /> : "–"),
          },
        ]
      : []),
  ];
}

export function BudgetRequests({ changes }: { changes: Changes }) {
  const found = useQuery(budgetRequests);
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data?.items.length) return null;
  const answers = found.data.items.some((each) => changes(each.queue));
  return (
    <section aria-label="Requests">
      <h2>Requests for more</h2>
      <PlainTable
        label="Requests for more"
        file="budget-requests"
        one="request"
        columns={columnsOf(found.data.currency, changes, answers)}
        rows={found.data.items}
        id={(row) => String(row.number)}
      />
      <Command line="ganglion budget requests --all" />
    </section>
  );
}

function Answers({ row, currency }: { row: BudgetRequestView; currency: string }) {
  return (
    <span className="answers">
      <Answer row={row} currency={currency} verb="approve" label="Approve" />
      <Answer row={row} currency={currency} verb="deny" label="Deny" />
    </span>
  );
}

function Answer(props: { row: BudgetRequestView; currency: string; verb: "approve" | "deny"; label: string }) {
  const { row, currency, verb, label } = props;
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const said = reason.trim();
  return (
    <Confirm
      small
      danger={verb === "deny"}
      label={label}
      title={`${label} ${money(row.micro, currency)} more for ${harmless(row.queue, 60)}?`}
      line={`ganglion budget ${verb} ${row.number}${said ? ` --reason ${word(said)}` : ""}`}
      act={async () => {
        await change("POST", `/budget-requests/${row.number}/${verb}`, { reason: said });
        await queries.invalidateQueries({ queryKey: ["budgets"] });
      }}
    >
      <p>
        {harmless(row.by, 60)} asks: {harmless(row.reason, 500)}
      </p>
      <label className="editor">
        Why, for the one who asked
        <input value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Confirm>
  );
}

/** Asking that a queue may spend more until the month is over. */
export function AskMore({ queue }: { queue: string }) {
  const queries = useQueryClient();
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  return (
    <Confirm
      small
      label="Ask for more"
      title={`Ask that ${harmless(queue, 60)} may spend more this month`}
      line={`ganglion budget request ${word(queue)} ${word(amount.trim() || "AMOUNT")} --reason ${word(reason.trim() || "WHY")}`}
      act={async () => {
        const micro = microOf(amount);
        if (!micro) throw new Error("Write an amount of money as 500 or 500.50.");
        if (!reason.trim()) throw new Error("Say why: an administrator decides by it.");
        await change("POST", `/budgets/${part(queue)}/requests`, { micro, reason: reason.trim() });
        await queries.invalidateQueries({ queryKey: ["budgets"] });
      }}
    >
      <label className="editor">
        How much more
        <input inputMode="decimal" value={amount} placeholder={amountOf(500_000_000)} onChange={(event) => setAmount(event.target.value)} />
      </label>
      <label className="editor">
        Why
        <input value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Confirm>
  );
}
