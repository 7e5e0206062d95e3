/** Which past a page is about: one of a few lengths, or dates. */
import { useState } from "react";
import { harmless } from "./text";

export interface Period {
  since?: string | undefined;
  until?: string | undefined;
}

export const LENGTHS = [
  { id: "24h", title: "24 hours" },
  { id: "7d", title: "7 days" },
  { id: "30d", title: "30 days" },
  { id: "90d", title: "90 days" },
] as const;

const DATE = /^\d{4}-\d{2}-\d{2}/;

/** The options of a command that say the same period. */
export function periodOptions({ since, until }: Period, usual: string): string[] {
  return [
    ...(since && since !== usual ? [`--since ${since}`] : []),
    ...(until ? [`--until ${until}`] : []),
  ];
}

export function PeriodFields(props: { value: Period; usual: string; set(value: Period): void }) {
  const { value, usual, set } = props;
  const since = value.since ?? usual;
  const [dated, setDated] = useState(Boolean(value.until) || DATE.test(since));
  const known = LENGTHS.some((each) => each.id === since);
  const chosen = dated ? "dates" : since;
  return (
    <>
      <label>
        Period
        <select
          value={chosen}
          onChange={(event) => {
            const wanted = event.target.value;
            setDated(wanted === "dates");
            if (wanted !== "dates") set({ since: wanted === usual ? undefined : wanted, until: undefined });
          }}
        >
          {LENGTHS.map((each) => (
            <option key={each.id} value={each.id}>
              last {each.title}
            </option>
          ))}
          {!known && !dated && <option value={since}>{harmless(since, 40)}</option>}
          <option value="dates">dates …</option>
        </select>
      </label>
      {dated && (
        <>
          <label>
            From (UTC)
            <input
              type="date"
              value={DATE.test(since) ? since.slice(0, 10) : ""}
              onChange={(event) => set({ ...value, since: utc(event.target.value) })}
            />
          </label>
          <label>
            Before (UTC)
            <input
              type="date"
              value={DATE.test(value.until ?? "") ? value.until?.slice(0, 10) : ""}
              onChange={(event) => set({ ...value, until: utc(event.target.value) })}
            />
          </label>
        </>
      )}
    </>
  );
}

function utc(date: string): string | undefined {
  return date ? `${date}T00:00Z` : undefined;
}
