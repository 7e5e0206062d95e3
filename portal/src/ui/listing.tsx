/** A page that is a list: what to find, the table, and what is known of the chosen row. */
import { useMemo, type ReactNode } from "react";
import { Button } from "react-aria-components";
import { Choice, counted } from "./fields";
import { Command, Failure, Loading } from "./parts";
import { Table, type Column } from "./table";

export interface ListSearch {
  at?: string | undefined;
  text?: string | undefined;
  sort?: string | undefined;
  state?: string | undefined;
}

export interface ListingProps<Row> {
  title: string;
  lead: ReactNode;
  file: string;
  /** Undefined = it is being read. */
  rows: readonly Row[] | undefined;
  error: Error | null;
  columns: readonly Column<Row>[];
  id(row: Row): string;
  /** What a row is found by. */
  words(row: Row): readonly string[];
  state?(row: Row): string;
  search: ListSearch;
  set(more: ListSearch): void;
  /** In place of the table where there is nothing. */
  empty: ReactNode;
  actions?: ReactNode;
  /** What is wrong, below the lead. */
  notice?: ReactNode;
  line: string;
  panel?: ReactNode;
  /** Below another heading, as one tab of a page. */
  nested?: boolean;
}

export function found<Row>(
  rows: readonly Row[],
  words: (row: Row) => readonly string[],
  text: string | undefined,
): readonly Row[] {
  const wanted = text?.trim().toLowerCase();
  return wanted ? rows.filter((row) => words(row).some((each) => each.toLowerCase().includes(wanted))) : rows;
}

export function Listing<Row>(props: ListingProps<Row>) {
  const { rows, search, set, words, state } = props;
  const states = useMemo(() => (state ? counted(rows ?? [], state) : []), [rows, state]);
  const shown = useMemo(
    () => found(rows ?? [], words, search.text).filter((row) => !search.state || state?.(row) === search.state),
    [rows, words, search.text, search.state, state],
  );
  if (props.error && !rows) return <Failure error={props.error} />;
  const line = <Command line={props.line} />;
  const Title = props.nested ? "h2" : "h1";
  return (
    <>
      <Title className={props.nested ? "sr" : ""}>{props.title}</Title>
      <p className="lead">{props.lead}</p>
      {props.notice}
      {props.actions && <div className="buttons">{props.actions}</div>}
      {!rows ? (
        <Loading what={props.title.toLowerCase()} />
      ) : !rows.length ? (
        props.empty
      ) : (
        <>
          <div className="filters" role="search">
            <label>
              Find
              <input
                type="search"
                value={search.text ?? ""}
                onChange={(event) => set({ text: event.target.value || undefined })}
              />
            </label>
            {states.length > 1 || search.state ? (
              <Choice label="State" value={search.state} counts={states} set={(each) => set({ state: each })} />
            ) : null}
            {(search.text || search.state || search.sort) && (
              <Button
                className="small plain"
                onPress={() => set({ text: undefined, state: undefined, sort: undefined })}
              >
                Clear
              </Button>
            )}
          </div>
          <div className={search.at && props.panel ? "listing split" : "listing"}>
            <div>
              <Table
                label={props.title}
                file={props.file}
                columns={props.columns}
                rows={shown}
                id={props.id}
                chosen={search.at}
                onOpen={(row) => set({ at: props.id(row) })}
                sort={search.sort}
                onSort={(sort) => set({ sort })}
              />
              {line}
            </div>
            {search.at && props.panel}
          </div>
        </>
      )}
      {!rows?.length && line}
    </>
  );
}
