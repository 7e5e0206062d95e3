/** Columns that lists of work share. */
import { Name, StateBadge } from "./parts";
import { RowLink } from "./row_link";
import type { Column } from "./table";

/** The id of a workload, which leads to its page. */
export const idOf = (title: string): Column<{ id: string }> => ({
  key: "id",
  title,
  width: "minmax(8rem, 2fr)",
  value: (row) => row.id,
  cell: (row) => (
    <RowLink job={row.id}>
      <Name text={row.id} most={60} />
    </RowLink>
  ),
});

export const STATE: Column<{ state: string; silent_since?: number }> = {
  key: "state",
  title: "State",
  width: "7.5rem",
  value: (row) => row.state,
  cell: (row) => <StateBadge of={row} />,
};

export const QUEUE: Column<{ queue: string }> = {
  key: "queue",
  title: "Queue",
  width: "minmax(5rem, 1fr)",
  wide: true,
  value: (row) => row.queue,
  cell: (row) => <Name text={row.queue} most={40} />,
};

export const USER: Column<{ user: string }> = {
  key: "user",
  title: "User",
  width: "minmax(5rem, 1fr)",
  wide: true,
  value: (row) => row.user,
  cell: (row) => <Name text={row.user} most={40} />,
};
