/** Setting and removing the budget of a queue. */
import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Button } from "react-aria-components";
import { change, changed, get, part } from "../../api/client";
import type { BudgetLine } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { money } from "../../ui/numbers";
import { Command, Failure } from "../../ui/parts";
import { harmless, word } from "../../ui/text";
import { remember } from "../../ui/undo";
import { commandOf, formOf, wishOf, type BudgetForm } from "./wish";

/** Whether nothing is lost with the former budget: what was carried over or approved is not set again. */
export function keepsAll(line: BudgetLine | undefined, carry: boolean, zone: string): boolean {
  if (!line || (!line.carried_micro && !line.raised_micro)) return true;
  return line.carry_over && carry && line.zone === zone;
}

function rulesOf({ micro, zone, carry_over, warn, grace_ms }: BudgetLine): Record<string, unknown> {
  return { micro, zone, carry_over, warn, grace_ms };
}

function rememberBudget(queue: string, undo: () => Promise<unknown>): void {
  remember({
    said: `The budget of ${queue} was changed.`,
    undo,
    present: async () => {
      const page = await get("/budgets");
      const line = page.items.find((each) => each.queue === queue);
      return line ? `${money(line.micro, page.currency)} a month` : "";
    },
    reads: ["budgets"],
  });
}

export function BudgetEdit({ queue, line }: { queue: string; line: BudgetLine | undefined }) {
  const [form, setForm] = useState<BudgetForm>(() => formOf(line));
  const [wrong, setWrong] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [done, setDone] = useState(false);
  const queries = useQueryClient();
  const path = `/budgets/${part(queue)}`;
  const edit = (more: Partial<BudgetForm>) => {
    setForm({ ...form, ...more });
    setDone(false);
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const wish = wishOf(form);
    setWrong(typeof wish === "string" ? wish : "");
    if (typeof wish === "string") return;
    setError(null);
    try {
      const { etag } = await changed("PUT", path, wish);
      if (keepsAll(line, wish.carry_over, wish.zone)) {
        const back = line ? rulesOf(line) : null;
        rememberBudget(queue, () => (back ? change("PUT", path, back, { etag }) : change("DELETE", path, undefined, { etag })));
      }
      setDone(true);
      await queries.invalidateQueries({ queryKey: ["budgets"] });
    } catch (found) {
      setError(found as Error);
    }
  };
  return (
    <>
      <form onSubmit={(event) => void save(event)}>
        <fieldset className="fields">
          <legend>{line ? "Change it" : "Give it a budget"}</legend>
          <label>
            Limit of a month
            <input
              inputMode="decimal"
              value={form.amount}
              aria-invalid={Boolean(wrong)}
              aria-describedby="budget-wrong"
              onChange={(event) => edit({ amount: event.target.value })}
            />
          </label>
          <label>
            Time zone of months
            <input value={form.zone} spellCheck={false} onChange={(event) => edit({ zone: event.target.value })} />
          </label>
          <label>
            Notify at, in %
            <input value={form.warn} inputMode="numeric" onChange={(event) => edit({ warn: event.target.value })} />
          </label>
          <label>
            Grace once it is spent, in minutes
            <input
              value={form.graceMin}
              inputMode="numeric"
              onChange={(event) => edit({ graceMin: event.target.value })}
            />
          </label>
          <label className="check">
            <input type="checkbox" checked={form.carry} onChange={(event) => edit({ carry: event.target.checked })} />
            Add what is left to the next month
          </label>
          <p id="budget-wrong" className="error" role="status">
            {wrong}
          </p>
          {error && <Failure error={error} />}
          <div className="buttons">
            <Button type="submit" className="primary">
              Save
            </Button>
            {line && (
              <Confirm
                danger
                label="Remove"
                title={`Remove the budget of ${harmless(queue, 60)}?`}
                line={`ganglion budget remove ${word(queue)}`}
                act={async () => {
                  await change("DELETE", path);
                  if (keepsAll(line, false, "")) rememberBudget(queue, () => change("PUT", path, rulesOf(line), { fresh: true }));
                  await queries.invalidateQueries({ queryKey: ["budgets"] });
                }}
              >
                <p>
                  What waits for it may start; budgets of queues above it still count.
                  {!keepsAll(line, false, "") && " What was carried over and approved beside it is lost: that cannot be undone."}
                </p>
              </Confirm>
            )}
            <span role="status" className="beside">{done ? "Saved." : ""}</span>
          </div>
          <Command line={commandOf(queue, form)} />
        </fieldset>
      </form>
    </>
  );
}
