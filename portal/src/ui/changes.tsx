/** What a change would do, setting by setting, and what others changed meanwhile. */
import { Button } from "react-aria-components";
import type { PolicyChange } from "../api/schema";
import { CsvButton, type Saved } from "./csv_button";
import { plural } from "./numbers";
import { Name } from "./parts";
import { harmless } from "./text";

const SHOWN = 60;

const SAVED: readonly Saved<PolicyChange>[] = [
  { title: "Setting", value: (row) => row.key },
  { title: "Before", value: (row) => row.before },
  { title: "After", value: (row) => row.after },
];

export function Changes({ changes, label }: { changes: readonly PolicyChange[]; label: string }) {
  return (
    <>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {changes.slice(0, SHOWN).map((each) => (
              <tr key={each.key}>
                <th scope="row">
                  <code>{harmless(each.key, 120)}</code>
                </th>
                <td>{each.before === null ? <span className="quiet">not there</span> : harmless(each.before, 120)}</td>
                <td>{each.after === null ? <span className="quiet">gone</span> : harmless(each.after, 120)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="table-foot quiet">
        <span>
          {plural(changes.length, "change")}
          {changes.length > SHOWN && `, the first ${SHOWN} of which are shown`}
        </span>
        <CsvButton file="changes" columns={SAVED} rows={changes} />
      </p>
    </>
  );
}

/** Another user changed it since a draft was begun. */
export function Overtaken(props: {
  what: string;
  /** Who did; empty = it is not known. */
  user: string;
  changes: readonly PolicyChange[];
  mine(): void;
  theirs(): void;
}) {
  return (
    <section className="notice warn" role="alert" aria-label="Changed meanwhile">
      <strong>
        The {props.what} was changed since you began to write
        {props.user && (
          <>
            , last by <Name text={props.user} most={40} />
          </>
        )}
        .
      </strong>
      {props.changes.length ? <Changes changes={props.changes} label="Changes of others" /> : <p>What it says is as before.</p>}
      <p>Yours is kept, and what it would change now is shown with it.</p>
      <div className="buttons">
        <Button onPress={props.mine}>Go on with mine, on top of theirs</Button>
        <Button onPress={props.theirs}>Take theirs</Button>
      </div>
    </section>
  );
}
