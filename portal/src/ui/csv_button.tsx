/** Saves a table as CSV: the one button that every table has. */
import { csv, download } from "./text";

export type Cell = string | number | null;

/** What of a column a file has. */
export interface Saved<Row> {
  title: string;
  value(row: Row): Cell;
}

export function CsvButton<Row>(props: {
  file: string;
  columns: readonly Saved<Row>[];
  rows: readonly Row[];
}) {
  const { file, columns, rows } = props;
  const save = () =>
    download(
      `${file}.csv`,
      csv([columns.map((each) => each.title), ...rows.map((row) => columns.map((each) => each.value(row)))]),
    );
  return (
    <button type="button" className="small plain" onClick={save}>
      Download CSV
    </button>
  );
}
