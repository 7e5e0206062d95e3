import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, expect, it, vi } from "vitest";
import { Table, type Column } from "./table";

afterEach(() => vi.unstubAllGlobals());

const column = (key: string, width: string, more: Partial<Column<string>> = {}): Column<string> => ({
  key,
  title: key,
  width,
  value: (row) => row,
  cell: (row) => row,
  ...more,
});
const COLUMNS = [
  column("name", "8rem", { narrow: "5rem" }),
  column("why", "20rem", { narrow: "9rem", under: 3 }),
  column("user", "6rem", { roomy: true }),
  column("at", "7rem", { wide: true }),
];

function shown(narrow: boolean): string {
  const list = { matches: narrow, addEventListener: () => undefined, removeEventListener: () => undefined };
  vi.stubGlobal("matchMedia", () => list);
  const rows = ["a", "b"];
  return renderToStaticMarkup(
    <Table label="All" file="all" columns={COLUMNS} rows={rows} id={(row) => row} onSort={() => undefined} />,
  );
}

it("has fewer columns on a tablet, fewer still beside a panel, and one under the others on a phone", () => {
  const found = shown(false);
  expect(found).toContain("--columns:8rem 20rem 6rem 7rem;");
  expect(found).toContain("--columns-middle:8rem 20rem 7rem;");
  expect(found).toContain("--columns-beside:5rem 9rem;");
  expect(found).toContain("--columns-narrow:5rem;");
  expect(found).toContain("--row:40px");
});

it("has taller rows where a column stands under the others", () => {
  expect(shown(true)).toContain("--row:100px");
});

it("neither sorts by nor saves what is known of seen rows alone", () => {
  const list = { matches: false, addEventListener: () => undefined, removeEventListener: () => undefined };
  vi.stubGlobal("matchMedia", () => list);
  const columns = [column("name", "8rem"), column("start", "6rem", { passing: true })];
  const text = renderToStaticMarkup(
    <Table label="All" file="all" columns={columns} rows={["a"]} id={(row) => row} onSort={() => undefined} />,
  );
  expect(text.match(/<button[^>]*class="plain"[^>]*>(\w+)/g)?.map((each) => each.replace(/.*>/, ""))).toEqual(["name"]);
  expect(text).toMatch(/role="columnheader"[^>]*><span[^>]*>start</);
});
