/** A table of any length: only what is seen is drawn, and the keyboard reaches every row. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { CsvButton } from "./csv_button";
import { plural } from "./numbers";

export interface Column<Row> {
  key: string;
  title: string;
  /** Width as of a grid: `8rem`, `minmax(8rem, 2fr)`. */
  width: string;
  cell(row: Row): ReactNode;
  /** What it is sorted by, and what CSV has. */
  value(row: Row): string | number | null;
  align?: "end";
  /** Width on narrow screens, where it differs. */
  narrow?: string;
  /** Left out on narrow screens. */
  wide?: boolean;
  /** Left out on those of a tablet too, and beside a panel. */
  roomy?: boolean;
  /** Lines that it has of its own on narrow screens, under the other columns. */
  under?: number;
  /** Known only of rows that are seen: neither sorted by nor in CSV. */
  passing?: boolean;
}

const ROW = 40;
/** How long rows have to stay in sight before more is read of them, and at most where they keep changing. */
const SETTLED_MS = 400;
const UNSETTLED_MS = 2_000;
/** Of each line under the other columns. */
const LINE = 20;
/** As in the style sheet. */
const NARROW = "(max-width: 48rem)";

function useNarrow(): boolean {
  const [list] = useState(() => matchMedia(NARROW));
  const [narrow, setNarrow] = useState(list.matches);
  useEffect(() => {
    const follow = () => setNarrow(list.matches);
    follow();
    list.addEventListener("change", follow);
    return () => list.removeEventListener("change", follow);
  }, [list]);
  return narrow;
}

export interface TableProps<Row> {
  label: string;
  file: string;
  columns: readonly Column<Row>[];
  /** Columns that CSV has beside them. */
  more?: readonly Column<Row>[];
  rows: readonly Row[];
  id(row: Row): string;
  chosen?: string | undefined;
  /** Left out where a row leads nowhere. */
  onOpen?(row: Row): void;
  /** What the space bar does with the row that is reached. */
  onMark?(row: Row): void;
  /** Column, with `-` before it where the largest comes first; undefined = as the server has it. */
  sort?: string | undefined;
  onSort(sort: string | undefined): void;
  /** Is given the rows that are drawn, once they have stayed for a moment. */
  onSeen?(rows: readonly Row[]): void;
}

export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: string | undefined,
): readonly Row[] {
  const by = columns.find((each) => each.key === sort?.replace(/^-/, ""));
  if (!by) return rows;
  const sign = sort?.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [by.value(a), by.value(b)];
    if (x === y) return 0;
    if (x === null || y === null) return x === null ? 1 : -1;
    return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
  });
}

export function Table<Row>(props: TableProps<Row>) {
  const { columns, onSort, sort, id, onOpen } = props;
  const rows = useMemo(() => sorted(props.rows, columns, sort), [props.rows, columns, sort]);
  const box = useRef<HTMLDivElement>(null);
  const lines = columns.reduce((sum, each) => sum + (each.under ?? 0), 0);
  const height = ROW + (useNarrow() ? LINE * lines : 0);
  const [active, setActive] = useState(0);
  const wanted = useRef(false);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 6,
    getItemKey: (n) => id(rows[n] as Row),
  });
  useEffect(() => virtual.measure(), [virtual, height]);
  const at = Math.min(active, Math.max(0, rows.length - 1));
  useSeen(virtual.getVirtualItems().map((item) => rows[item.index] as Row), id, props.onSeen);

  useEffect(() => {
    if (!wanted.current) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-row="${at}"]`);
    if (row) {
      wanted.current = false;
      row.focus({ preventScroll: true });
    }
  });

  const go = useCallback(
    (to: number) => {
      const row = Math.max(0, Math.min(rows.length - 1, to));
      wanted.current = true;
      setActive(row);
      virtual.scrollToIndex(row);
    },
    [rows.length, virtual],
  );
  const pressed = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).closest("a,button,input") && /^(Enter| )$/.test(event.key)) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 400) / height) - 2);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    };
    const to = steps[event.key];
    const row = rows[at];
    if (to !== undefined) go(to);
    else if (event.key === " " && props.onMark && row !== undefined) props.onMark(row);
    else if (event.key === "Enter" && row !== undefined) onOpen?.(row);
    else return;
    event.preventDefault();
  };
  const template = columns.map((each) => each.width).join(" ");
  const middle = columns.filter((each) => !each.roomy).map((each) => each.width).join(" ");
  const beside = columns.filter((each) => !each.wide && !each.roomy);
  const width = (each: Column<Row>) => each.narrow ?? each.width;
  const style = {
    "--columns": template,
    "--columns-middle": middle,
    "--columns-beside": beside.map(width).join(" "),
    "--columns-narrow": beside.filter((each) => !each.under).map(width).join(" "),
    "--row": `${height}px`,
    "--rows": Math.max(1, rows.length),
  } as React.CSSProperties;
  const open = useCallback((n: number) => (setActive(n), onOpen?.(rows[n] as Row)), [rows, onOpen]);

  return (
    <div className="table-box">
      <div
        className="table"
        role="grid"
        aria-label={props.label}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length}
        ref={box}
        style={style}
        onKeyDown={pressed}
      >
        <div className="table-head" role="row" aria-rowindex={1}>
          {columns.map((each) => {
            const way = sort === each.key ? "ascending" : sort === `-${each.key}` ? "descending" : "none";
            const next = way === "none" ? each.key : way === "ascending" ? `-${each.key}` : undefined;
            return (
              <div
                key={each.key}
                role="columnheader"
                aria-sort={way}
                className={classes(each)}
              >
                {each.title && each.passing ? (
                  <span className="still">{each.title}</span>
                ) : each.title ? (
                  <button type="button" className="plain" onClick={() => onSort(next)}>
                    {each.title}
                    <span aria-hidden="true">{way === "ascending" ? "\u00a0▲" : way === "descending" ? "\u00a0▼" : ""}</span>
                  </button>
                ) : (
                  <span className="sr">Actions</span>
                )}
              </div>
            );
          })}
        </div>
        <div className="table-body" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => (
            <TableRow
              key={item.key}
              row={rows[item.index] as Row}
              n={item.index}
              top={item.start}
              columns={columns as readonly Column<unknown>[]}
              reached={item.index === at}
              chosen={props.chosen === id(rows[item.index] as Row)}
              open={open}
            />
          ))}
        </div>
      </div>
      <p className="table-foot quiet">
        <span>{plural(rows.length, "row")}</span>
        <CsvButton file={props.file} columns={[...columns, ...(props.more ?? [])].filter((each) => each.title && !each.passing)} rows={rows} />
      </p>
    </div>
  );
}

function useSeen<Row>(seen: readonly Row[], id: (row: Row) => string, tell?: (rows: readonly Row[]) => void) {
  const latest = useRef({ seen, tell });
  latest.current = { seen, tell };
  const begun = useRef(0);
  const key = tell ? seen.map(id).join("\n") : "";
  useEffect(() => {
    if (!key) return;
    begun.current ||= Date.now();
    const left = begun.current + UNSETTLED_MS - Date.now();
    const timer = setTimeout(() => {
      begun.current = 0;
      latest.current.tell?.(latest.current.seen);
    }, Math.max(0, Math.min(SETTLED_MS, left)));
    return () => clearTimeout(timer);
  }, [key]);
}

function classes(column: { align?: "end"; wide?: boolean; roomy?: boolean; under?: number }): string {
  const found = [column.align === "end" && "end", column.wide && "wide", column.roomy && "roomy", column.under && "under"];
  return found.filter(Boolean).join(" ");
}

interface RowProps {
  row: unknown;
  n: number;
  top: number;
  columns: readonly Column<unknown>[];
  reached: boolean;
  chosen: boolean;
  open(n: number): void;
}

const TableRow = memo(function TableRow({ row, n, top, columns, reached, chosen, open }: RowProps) {
  return (
    <div
      role="row"
      aria-rowindex={n + 2}
      aria-selected={chosen}
      data-row={n}
      className="table-row"
      tabIndex={reached ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest("a,button,input")) open(n);
      }}
    >
      {columns.map((each) => (
        <div key={each.key} role="gridcell" className={classes(each)}>
          {each.cell(row)}
        </div>
      ))}
    </div>
  );
});
