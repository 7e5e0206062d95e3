/** Which events of a user's work reach which recipient. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Button } from "react-aria-components";
import { change, get } from "../../api/client";
import type { NoticesView } from "../../api/schema";
import { Command, Failure, Loading } from "../../ui/parts";
import { harmless } from "../../ui/text";
import { EVENTS, LONG_WAIT, itemsOf, lineOf, refusedIn, rowsOf, wrongWith, type Row } from "./chosen";

const KEY = ["notices"];

export function Notices() {
  const found = useQuery({ queryKey: KEY, queryFn: ({ signal }) => get("/notices", {}, {}, signal) });
  return (
    <section aria-label="Notices" className="notices">
      <h2>Notices</h2>
      <p className="lead">
        Of your work whose file does not say <code>notify</code>. Without a choice, what the server says is sent.
      </p>
      {found.error && <Failure error={found.error} />}
      {!found.data && !found.error && <Loading what="your choice" />}
      {found.data && <Choice key={JSON.stringify(found.data.items)} kept={rowsOf(found.data.items)} />}
    </section>
  );
}

const NEW: Row = { to: "", on: ["failure"], signingKey: "" };

function Choice({ kept }: { kept: readonly Row[] }) {
  const [rows, setRows] = useState<readonly Row[]>(kept.length ? kept : [NEW]);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const id = useId();
  const wrong = wrongWith(rows);
  const changed = JSON.stringify(itemsOf(rows)) !== JSON.stringify(itemsOf(kept));
  const put = (next: readonly Row[]) => {
    setRows(next);
    setError(null);
  };
  const edit = (at: number, more: Partial<Row>) => put(rows.map((each, n) => (n === at ? { ...each, ...more } : each)));
  const refused = refusedIn(error, rows);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      queries.setQueryData(KEY, await change<NoticesView>("PUT", "/notices", { items: itemsOf(rows) }));
    } catch (found) {
      setError(found as Error);
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {rows.map((row, at) => (
        <fieldset key={at} className="fields">
          <legend>Recipient {at + 1}</legend>
          <label>
            Mail address, URL, or secret:NAME of one
            <input
              value={row.to}
              placeholder="ada@example.org"
              spellCheck={false}
              autoCapitalize="none"
              autoComplete="off"
              aria-invalid={refused.has(at)}
              aria-describedby={refused.has(at) ? `${id}-${at}` : undefined}
              onChange={(event) => edit(at, { to: event.target.value })}
            />
          </label>
          {refused.has(at) && (
            <p id={`${id}-${at}`} className="error" role="alert">
              {harmless(refused.get(at) ?? "", 300)}
            </p>
          )}
          <div className="radios" role="group" aria-label={`Events of recipient ${at + 1}`}>
            <span className="quiet">when your work</span>
            {EVENTS.map(([name, title]) => (
              <label key={name} className="check">
                <input
                  type="checkbox"
                  checked={row.on.includes(name)}
                  onChange={(event) =>
                    edit(at, { on: EVENTS.map(([each]) => each).filter((each) => (each === name ? event.target.checked : row.on.includes(each))) })
                  }
                />
                {title}
              </label>
            ))}
            {row.on.includes("waiting") && (
              <input
                className="short"
                aria-label={`How long work waits before recipient ${at + 1} is notified`}
                value={row.waiting ?? ""}
                placeholder={LONG_WAIT}
                spellCheck={false}
                autoComplete="off"
                onChange={(event) => edit(at, { waiting: event.target.value })}
              />
            )}
            {(rows.length > 1 || row.to) && (
              <Button
                className="small"
                aria-label={`Remove recipient ${at + 1}`}
                onPress={() => put(rows.length > 1 ? rows.filter((_, n) => n !== at) : [NEW])}
              >
                Remove
              </Button>
            )}
          </div>
        </fieldset>
      ))}
      <p className="error" role="status">
        {harmless(wrong, 200)}
      </p>
      {error && !refused.size && <Failure error={error} />}
      <div className="buttons">
        <Button type="submit" className="primary" isDisabled={busy || !changed || Boolean(wrong)}>
          Save
        </Button>
        {rows.length < 10 && <Button onPress={() => put([...rows, NEW])}>Add a recipient</Button>}
        {changed && <Button onPress={() => put(kept.length ? kept : [NEW])}>Discard</Button>}
      </div>
      <Command line={lineOf(rows)} />
    </form>
  );
}
