/** A table of few rows, drawn whole: its columns are those of a long one. */
import type { ReactNode } from "react";
import { CsvButton } from "./csv_button";
import { plural } from "./numbers";
import type { Column } from "./table";

export type PlainColumn<Row> = Omit<Column<Row>, "width" | "narrow" | "roomy" | "under"> & { className?: string };

export interface PlainTableProps<Row> {
  label: string;
  /** The first one names the row. */
  columns: readonly PlainColumn<Row>[];
  rows: readonly Row[];
  id(row: Row): string;
  chosen?: string | undefined;
  className?: string;
  caption?: ReactNode;
  /** What is saved as CSV under this name, and what one row is; left out where a longer table has it. */
  file?: string;
  one?: string;
}

export function PlainTable<Row>(props: PlainTableProps<Row>) {
  const { label, columns, rows, id, chosen, file } = props;
  return (
    <>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
        <table className={`plain-table ${props.className ?? ""}`.trim()}>
          {props.caption && <caption>{props.caption}</caption>}
          <thead>
            <tr>
              {columns.map((each) => (
                <th key={each.key} scope="col" className={classes(each)}>
                  {each.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={id(row)} className={chosen === id(row) ? "chosen" : undefined}>
                {columns.map((each, n) =>
                  n ? (
                    <td key={each.key} className={classes(each)}>
                      {each.cell(row)}
                    </td>
                  ) : (
                    <th key={each.key} scope="row" className={classes(each)}>
                      {each.cell(row)}
                    </th>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {file && (
        <p className="table-foot quiet">
          <span>{plural(rows.length, props.one ?? "row")}</span>
          <CsvButton file={file} columns={columns} rows={rows} />
        </p>
      )}
    </>
  );
}

function classes(column: { align?: "end"; wide?: boolean; className?: string }): string | undefined {
  const found = [column.align === "end" ? "end" : "", column.wide ? "wide" : "", column.className ?? ""];
  return found.filter(Boolean).join(" ") || undefined;
}
