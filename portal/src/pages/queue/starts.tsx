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

/** What is known of gangs that are seen. */
export interface Starts {
  known: ReadonlyMap<string, StartView>;
  /** Whether the server could not be asked: what is not known then is not on its way. */
  failed: boolean;
}

/** Starts of rows that are seen, and what to call with them. */
export function useStarts(): { starts: Starts; see(rows: readonly OrderItem[]): void } {
  const [gangs, setGangs] = useState<readonly string[]>([]);
  const { data, isError } = useQuery(starts(gangs));
  const made = useMemo(
    () => ({ known: new Map(data?.items.map((each) => [each.gang, each])), failed: isError }),
    [data, isError],
  );
  const see = useCallback((rows: readonly OrderItem[]) => {
    const wanted = rows.filter((row) => !row.never).map((row) => row.gang).slice(0, MOST);
    setGangs((was) => (was.join("\n") === wanted.join("\n") ? was : wanted));
  }, []);
  return { starts: made, see };
}

export function StartText({ row, starts }: { row: OrderItem; starts: Starts }) {
  const found = starts.known.get(row.gang);
  if (found?.start) return <Within band={found.start} />;
  return <span className="quiet">{row.never ? "never" : found || starts.failed ? "unknown" : "…"}</span>;
}

export const startColumn = (starts: Starts): Column<OrderItem> => ({
  key: "start",
  title: "Starts within",
  width: "10.5rem",
  wide: true,
  passing: true,
  value: () => null,
  cell: (row) => <StartText row={row} starts={starts} />,
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
