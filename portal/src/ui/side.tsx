/** What is known of the chosen row, beside its list. */
import type { ReactNode } from "react";
import { Button } from "react-aria-components";

export function Side(props: { label: string; title: ReactNode; close(): void; children: ReactNode }) {
  return (
    <aside className="side" aria-label={props.label}>
      <div className="side-head">
        <h2>{props.title}</h2>
        <Button className="small plain" onPress={props.close}>
          Close
        </Button>
      </div>
      {props.children}
    </aside>
  );
}

/** Names and values; those without a value are left out. */
export function Facts({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return (
    <dl className="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
