/** Long lists are taken in pieces, so that the page answers meanwhile, and keep what has not changed. */

/** Characters that are parsed in one go: a few milliseconds. */
const PIECE = 128 * 1024;
const ITEMS = '"items":[';

const pause = () => new Promise<void>((done) => setTimeout(done, 0));

/**
 * Parse `{"items":[…]}` whose items are objects that begin with the key `first`. Within a text quotes are
 * escaped, so that what separates two items stands nowhere else.
 */
export async function parsed<Page>(text: string, first: string, signal?: AbortSignal): Promise<Page> {
  const seam = `},{"${first}":`;
  const begin = text.indexOf(ITEMS) + ITEMS.length;
  if (begin < ITEMS.length || begin > 1_000 || text.length < 2 * PIECE) return JSON.parse(text) as Page;
  const items: unknown[] = [];
  let from = begin;
  for (;;) {
    const end = text.indexOf(seam, from + PIECE);
    if (end < 0) break;
    items.push(...(JSON.parse(`[${text.slice(from, end + 1)}]`) as unknown[]));
    from = end + 2;
    await pause();
    signal?.throwIfAborted();
  }
  const last = JSON.parse(text.slice(0, begin) + text.slice(from)) as { items: unknown[] };
  return { ...last, items: [...items, ...last.items] } as Page;
}

/** The page with rows of before in place of those that say the same: what shows them need not be drawn again. */
export function shared<Row extends object, Page extends { items: Row[] }>(
  before: Page | undefined,
  now: Page,
  id: (row: Row) => string,
): Page {
  if (!before) return now;
  const known = new Map(before.items.map((row) => [id(row), row]));
  let same = before.items.length === now.items.length;
  const items = now.items.map((row, n) => {
    const old = known.get(id(row));
    const kept = old && alike(old, row) ? old : row;
    same &&= kept === before.items[n];
    return kept;
  });
  return { ...now, items: same ? before.items : items };
}

function alike<Row extends object>(a: Row, b: Row): boolean {
  for (const key in b) if (a[key] !== b[key]) return false;
  return true;
}
