/** When what is seen of the queue is expected to start. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { starts } from "../../api/reads";
import type { Band, OrderItem, StartView } from "../../api/schema";
import { useNow } from "../../ui/clock";
import { absolute, span } from "../../ui/numbers";
import { useSettings } from "../../ui/settings";
import type { Column } from "../../ui/table";

/** Most gangs that the server is asked about at once. */
const MOST = 100;

/** `undefined` of a gang = it was not asked about yet. */
export type Starts = ReadonlyMap<string, StartView>;

/** Starts of rows that are seen, and what to call with them. */
export function useStarts(): { known: Starts; failed: boolean; see(rows: readonly OrderItem[]): void } {
  const [gangs, setGangs] = useState<readonly string[]>([]);
  const found = useQuery(starts(gangs));
  const known = useMemo(() => new Map(found.data?.items.map((each) => [each.gang, each])), [found.data]);
  const see = useCallback((rows: readonly OrderItem[]) => {
    const wanted = rows.filter((row) => !row.never).map((row) => row.gang).slice(0, MOST);
    setGangs((was) => (was.join("\n") === wanted.join("\n") ? was : wanted));
  }, []);
  return { known, failed: found.isError, see };
}

/** Said of a row without a band. */
export function without(row: Pick<OrderItem, "never">, found: StartView | undefined, failed: boolean): string {
  if (row.never) return "never";
  return found || failed ? "unknown" : "…";
}

export const startColumn = (known: Starts, failed: boolean): Column<OrderItem> => ({
  key: "start",
  title: "Starts within",
  width: "10rem",
  wide: true,
  passing: true,
  value: () => null,
  cell: (row) => {
    const found = known.get(row.gang);
    return found?.start ? <Within band={found.start} /> : <span className="quiet">{without(row, found, failed)}</span>;
  },
});

function Within({ band }: { band: Band }) {
  const now = useNow();
  const { zone } = useSettings();
  const [soon, late] = [absolute(band.p50, now, zone, true), absolute(band.p90, now, zone, true)];
  return (
    <span title={`As likely as not by ${soon}, nine times in ten by ${late}; an estimate, not a reservation`}>
      {span(band.p50 - now, band.p90 - now)}
    </span>
  );
}
