/** What is submitted again and again: when next, and what became of the last one. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { change, part } from "../../api/client";
import { schedules } from "../../api/reads";
import type { ScheduleView } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Listing } from "../../ui/listing";
import { Command, Empty, Name, Time } from "../../ui/parts";
import { Facts, Side } from "../../ui/side";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";

const route = getRouteApi("/schedules");
const iso = (at: number | null) => (at ? new Date(at).toISOString() : null);

const COLUMNS: readonly Column<ScheduleView>[] = [
  { key: "name", title: "Schedule", width: "minmax(8rem, 2fr)", narrow: "minmax(6rem, 1fr)", value: (row) => row.name, cell: (row) => <Name text={row.name} most={60} /> },
  { key: "next", title: "Next", width: "minmax(7rem, 1fr)", narrow: "7rem", value: (row) => iso(row.next), cell: (row) => <Time at={row.next} /> },
  {
    key: "cron",
    title: "When",
    width: "minmax(8rem, 1.2fr)",
    narrow: "minmax(9.5rem, 1fr)",
    value: (row) => `${row.cron} ${row.zone}`,
    cell: (row) => (
      <>
        <code>{harmless(row.cron, 60)}</code> <span className="quiet">{harmless(row.zone, 40)}</span>
      </>
    ),
  },
  { key: "last", title: "Last", width: "minmax(6rem, 1fr)", wide: true, value: (row) => iso(row.last), cell: (row) => <Time at={row.last} /> },
  { key: "live", title: "Live", width: "4.5rem", align: "end", wide: true, value: (row) => row.live.length, cell: (row) => row.live.length },
  { key: "user", title: "User", width: "minmax(5rem, 1fr)", wide: true, value: (row) => row.user, cell: (row) => <Name text={row.user} most={40} /> },
  { key: "message", title: "Said last", width: "minmax(6rem, 2fr)", wide: true, value: (row) => row.message, cell: (row) => harmless(row.message || "–", 160) },
];

const OVERLAP: Record<string, string> = {
  forbid: "no new run while one lives",
  allow: "runs may overlap",
  replace: "a new run stops the one before",
};

export function SchedulesPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(schedules);
  const set = (more: Partial<typeof search>) => void go({ search: (was) => ({ ...was, ...more }), replace: true });
  const chosen = found.data?.items.find((each) => each.name === search.at);
  return (
    <Listing
      title="Schedules"
      lead="Workloads that are submitted again and again, the next one first."
      file="schedules"
      rows={found.data?.items}
      error={found.error}
      columns={COLUMNS}
      id={(row) => row.name}
      words={(row) => [row.name, row.user, row.cron]}
      search={search}
      set={set}
      line="ganglion schedules"
      empty={
        <Empty title="Nothing is scheduled">
          <p>A workload file with `schedule` is submitted at each of its dates.</p>
          <p>
            <Link to="/submit" search={{ template: "schedule" }} className="button primary">
              Schedule a workload
            </Link>
          </p>
        </Empty>
      }
      panel={chosen && <SchedulePanel row={chosen} close={() => set({ at: undefined })} />}
    />
  );
}

function SchedulePanel({ row, close }: { row: ScheduleView; close(): void }) {
  return (
    <Side label="Schedule" title={<Name text={row.name} most={60} />} close={close}>
      <Facts
        rows={[
          ["next", <Time key="next" at={row.next} exact />],
          ["when", <code key="cron">{harmless(`${row.cron} ${row.zone}`, 120)}</code>],
          ["overlap", OVERLAP[row.overlap] ?? harmless(row.overlap, 60)],
          ["user", <Name key="user" text={row.user} most={60} />],
          ["last", <Time key="last" at={row.last} exact />],
          ["last run", row.run && <Run key="run" id={row.run} />],
          ["said", harmless(row.message, 600)],
        ]}
      />
      {row.live.length > 0 && (
        <>
          <h3>Not ended yet</h3>
          <ul className="lines">
            {row.live.slice(0, 50).map((each) => (
              <li key={each}>
                <Run id={each} />
              </li>
            ))}
          </ul>
        </>
      )}
      <div className="buttons">
        <Confirm
          danger
          label="Remove"
          title={`Submit ${harmless(row.name, 60)} no more?`}
          line={`ganglion schedules --remove ${word(row.name)}`}
          act={() => change("DELETE", `/schedules/${part(row.name)}`).then(close)}
        >
          <p>What it has begun goes on.</p>
        </Confirm>
      </div>
      <Command line={`ganglion history ${word(`${row.name}*`)}`} label="Its runs, on the command line" />
    </Side>
  );
}

function Run({ id }: { id: string }) {
  return (
    <Link to="/workloads/$ref" params={{ ref: id }}>
      <Name text={id} most={60} />
    </Link>
  );
}
