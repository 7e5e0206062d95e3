/** Bookings: nodes that are kept for maintenance, a queue or a user, from one time to another. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { change } from "../../api/client";
import { bookings } from "../../api/reads";
import type { BookingView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Confirm } from "../../ui/confirm";
import { Listing } from "../../ui/listing";
import { may } from "../../ui/may";
import { duration, plural } from "../../ui/numbers";
import { Badge, Empty, Name, Time } from "../../ui/parts";
import { Facts, Side } from "../../ui/side";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { remember } from "../../ui/undo";
import { undrain } from "../nodes/undo";
import { NewBooking, READS, madeOf, pathOf, presentOf } from "./booking";
import { STATE } from "../../ui/work_columns";

const route = getRouteApi("/bookings");
const DRAIN = "drain-";

export const isDrain = (row: BookingView) => row.name.startsWith(DRAIN);

/** Whom nodes are kept for. */
export function keptFor(row: BookingView): string {
  if (isDrain(row)) return "a drain";
  const parts = [...row.queues.map((each) => `queue ${each}`), ...row.users.map((each) => `user ${each}`)];
  return parts.join(", ") || "maintenance";
}

const COLUMNS: readonly Column<BookingView>[] = [
  { key: "name", title: "Booking", width: "minmax(8rem, 1.5fr)", narrow: "minmax(5rem, 1fr)", value: (row) => row.name, cell: (row) => <Name text={row.name} most={60} /> },
  STATE,
  {
    key: "begin",
    title: "Begins",
    width: "minmax(7rem, 1fr)",
    narrow: "minmax(6rem, 1fr)",
    value: (row) => new Date(row.begin).toISOString(),
    cell: (row) => <Time at={row.begin} />,
  },
  {
    key: "length",
    title: "For",
    width: "7rem",
    align: "end",
    wide: true,
    value: (row) => (isDrain(row) ? null : (row.end - row.begin) / 3_600_000),
    cell: (row) => (isDrain(row) ? "until undone" : duration(row.end - row.begin)),
  },
  {
    key: "nodes",
    title: "Nodes",
    width: "5rem",
    narrow: "4.5rem",
    align: "end",
    value: (row) => row.nodes.length,
    cell: (row) => row.nodes.length,
  },
  { key: "for", title: "Kept for", width: "minmax(6rem, 1.2fr)", wide: true, value: keptFor, cell: (row) => harmless(keptFor(row), 120) },
  { key: "reason", title: "Why", width: "minmax(6rem, 2fr)", wide: true, value: (row) => row.reason, cell: (row) => harmless(row.reason || "–", 160) },
];

export function BookingsPage() {
  const { me } = useVisitor();
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(bookings);
  const set = (more: Partial<typeof search>) => void go({ search: (was) => ({ ...was, ...more }), replace: true });
  const allowed = may(me, "fleet");
  const chosen = found.data?.items.find((each) => each.name === search.at);
  return (
    <Listing
      title="Bookings"
      lead="Nodes that are kept for maintenance, a queue or a user. Only work that ends before a booking begins starts there, or work that it is for."
      file="bookings"
      rows={found.data?.items}
      error={found.error}
      columns={COLUMNS}
      id={(row) => row.name}
      words={(row) => [row.name, row.reason, keptFor(row), ...row.nodes]}
      state={(row) => row.state}
      search={search}
      set={set}
      line="ganglion booking list"
      actions={allowed && found.data?.items.length ? <NewBooking /> : null}
      empty={
        <Empty title="Nothing is booked">
          <p>Keep nodes free for maintenance, or for a queue or user that needs them at a known time.</p>
          {allowed ? <NewBooking /> : <p className="quiet">An operator can book nodes.</p>}
        </Empty>
      }
      panel={chosen && <BookingPanel row={chosen} may={allowed} close={() => set({ at: undefined })} />}
    />
  );
}

function BookingPanel({ row, may, close }: { row: BookingView; may: boolean; close(): void }) {
  const what = row.name.slice(DRAIN.length);
  return (
    <Side label="Booking" title={<Name text={row.name} most={60} />} close={close}>
      <p>
        <Badge text={row.state} /> {harmless(row.reason, 400)}
      </p>
      <Facts
        rows={[
          ["begins", <Time key="begin" at={row.begin} exact />],
          ["ends", isDrain(row) ? "when it is undone" : <Time key="end" at={row.end} exact />],
          ["kept for", harmless(keptFor(row), 400)],
        ]}
      />
      <h3>{plural(row.nodes.length, "node")}</h3>
      <ul className="lines">
        {row.nodes.slice(0, 50).map((each) => (
          <li key={each}>
            <Link to="/nodes" search={{ at: each }}>
              <Name text={each} most={60} />
            </Link>
          </li>
        ))}
        {row.nodes.length > 50 && <li>and {plural(row.nodes.length - 50, "further node")}</li>}
      </ul>
      {may && (
        <div className="buttons">
          {isDrain(row) ? (
            <Confirm
              label="Undrain"
              title={`Let ${harmless(what, 60)} take work again?`}
              line={`ganglion undrain ${word(what)}`}
              act={() => undrain(what, row.begin, row.reason).then(close)}
            />
          ) : (
            <Confirm
              danger
              label="Remove"
              title={`Take booking ${harmless(row.name, 60)} back?`}
              line={`ganglion booking remove ${word(row.name)}`}
              act={async () => {
                await change("DELETE", pathOf(row.name));
                remember({
                  said: `Booking ${row.name} was removed.`,
                  undo: () => change("PUT", pathOf(row.name), madeOf(row), { fresh: true }),
                  present: () => presentOf(row.name),
                  reads: READS,
                });
                close();
              }}
            >
              <p>{row.clears ? "What has left its nodes for it does not come back by an undo." : "Work may start on its nodes from now on."}</p>
            </Confirm>
          )}
        </div>
      )}
    </Side>
  );
}
