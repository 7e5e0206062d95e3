/** Fields of forms, each with its label and what is wrong with it. */
import { createContext, useContext, useId, type ReactNode } from "react";
import { Problem } from "../api/client";
import { harmless } from "./text";

export function Field(props: {
  label: string;
  value: string;
  set(value: string): void;
  hint?: string;
  type?: "text" | "datetime-local" | "number" | "password";
  placeholder?: string;
  wrong?: boolean;
  /** Key of the request that it becomes: what the server says of that is shown here. */
  name?: string;
}) {
  const id = useId();
  const said = useContext(RefusedFields).get(props.name ?? "");
  const about = [props.hint && `${id}-hint`, said && `${id}-said`].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      <input
        id={id}
        type={props.type ?? "text"}
        value={props.value}
        placeholder={props.placeholder}
        autoComplete={props.type === "password" ? "new-password" : "off"}
        spellCheck={false}
        aria-invalid={(props.wrong ?? false) || Boolean(said)}
        aria-describedby={about || undefined}
        onChange={(event) => props.set(event.target.value)}
      />
      {props.hint && (
        <span id={`${id}-hint`} className="quiet">
          {props.hint}
        </span>
      )}
      {said && (
        <span id={`${id}-said`} className="error">
          {harmless(said, 300)}
        </span>
      )}
    </div>
  );
}

/** What the server says of fields, by their keys. */
export const RefusedFields = createContext<ReadonlyMap<string, string>>(new Map());

export function refusedFields(error: Error | null): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  // The key of a list's item is that of the list.
  for (const each of error instanceof Problem ? error.errors : []) found.set(each.key.replace(/[.[].*$/, ""), each.detail);
  return found;
}

export function Select(props: {
  label: string;
  value: string;
  set(value: string): void;
  options: readonly (readonly [string, string])[];
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      <select id={id} value={props.value} onChange={(event) => props.set(event.target.value)}>
        {props.options.map(([value, title]) => (
          <option key={value} value={value}>
            {harmless(title, 80)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Choose one of the values that rows have, each with how many have it. */
export function Choice(props: {
  label: string;
  value: string | undefined;
  counts: readonly [string, number][];
  set(value: string | undefined): void;
}) {
  const known = props.counts.some(([name]) => name === props.value);
  return (
    <label>
      {props.label}
      <select value={props.value ?? ""} onChange={(event) => props.set(event.target.value || undefined)}>
        <option value="">all</option>
        {props.value && !known && <option value={props.value}>{harmless(props.value, 60)} (0)</option>}
        {props.counts.map(([name, count]) => (
          <option key={name} value={name}>
            {harmless(name, 60)} ({count})
          </option>
        ))}
      </select>
    </label>
  );
}

export function counted<Row>(items: readonly Row[], key: (row: Row) => string): [string, number][] {
  const found = new Map<string, number>();
  for (const each of items) found.set(key(each), (found.get(key(each)) ?? 0) + 1);
  return [...found].filter(([name]) => name).sort((a, b) => b[1] - a[1]);
}

export function Fields({ children }: { children: ReactNode }) {
  return <div className="form-fields">{children}</div>;
}
