/** Whom a workload would displace, what they would lose by it, and when it would start. */
import { Link } from "@tanstack/react-router";
import type { DisplacedView, Displacement, Verdict } from "../../api/schema";
import { useNow } from "../../ui/clock";
import { count, gpus, hours, money, plural, relative, span } from "../../ui/numbers";
import { Name, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";

/** Rows shown at most. */
const MOST = 20;

const FATES: Record<DisplacedView["fate"], string> = {
  requeued: "waits again",
  ended: "ends for good",
  moved: "goes on elsewhere",
  shrunk: "goes on smaller",
  waits: "loses its promise",
};

/** GPU-ms in GPU-hours. */
const gpuHours = (ms: number) => `${hours(ms / 3_600_000)} GPU-h`;

export function lost(one: DisplacedView): string {
  if (one.lost_gpu_ms === null) return `unknown, at most ${gpuHours(one.most_gpu_ms)}`;
  return one.lost_gpu_ms ? gpuHours(one.lost_gpu_ms) : "–";
}

function columns(currency: string): PlainColumn<DisplacedView>[] {
  return [
    {
      key: "name",
      title: "Workload",
      value: (row) => row.gang,
      cell: (row) => (
        <>
          <Link to="/workloads/$ref" params={{ ref: row.workload }}>
            <Name text={row.name || row.workload} most={60} />
          </Link>
          <br />
          <span className="quiet">
            <Name text={row.queue} most={40} />, <Name text={row.user || "–"} most={30} />: {FATES[row.fate]}
          </span>
        </>
      ),
    },
    { key: "gpus", title: "GPUs", align: "end", value: (row) => row.gpu_milli / 1000, cell: (row) => gpus(row.gpu_milli) },
    {
      key: "lost",
      title: "Work lost",
      align: "end",
      value: (row) => row.lost_gpu_ms,
      cell: (row) => (
        <>
          {lost(row)}
          {currency && (
            <>
              <br />
              <span className="quiet">{row.most_micro === null ? "no price" : `charged ${money(row.most_micro, currency)}`}</span>
            </>
          )}
        </>
      ),
    },
  ];
}

/** `later`: whether it would do so only once they have saved their work. */
export function Displaces({ found, later }: { found: Displacement; later: boolean }) {
  const shown = found.items.slice(0, MOST);
  const more = found.items.length - shown.length;
  const rest = [more > 0 && `${count(more)} more`, found.others > 0 && `${plural(found.others, "other")} that you may not see`];
  const all = found.items.length + found.others;
  return (
    <section aria-label="What it would displace">
      <p>
        <strong>
          {later ? "It would then" : "It would"} stop, shrink or move {plural(all, "gang")}
        </strong>{" "}
        with {plural(found.gpu_milli / 1000, "GPU")}. {losses(found)}
      </p>
      {shown.length > 0 && <PlainTable label="Displaced" className="displaced" columns={columns(found.currency)} rows={shown} id={(row) => row.gang} />}
      {rest.some(Boolean) && <p className="quiet">And {rest.filter(Boolean).join(" and ")}.</p>}
    </section>
  );
}

function losses(found: Displacement): string {
  const charged = !found.currency ? "" : `, charged ${found.most_micro === null ? "in part without a price" : money(found.most_micro, found.currency)}`;
  if (!found.unknown) return found.most_gpu_ms ? `${gpuHours(found.most_gpu_ms)} of work would be lost${charged}.` : "No work would be lost.";
  const known = found.lost_gpu_ms ? `${gpuHours(found.lost_gpu_ms)} of work would be lost, and ` : "Work would be lost: ";
  const who = `${plural(found.unknown, "gang")} ${found.unknown === 1 ? "reports" : "report"} no checkpoints`;
  return `${known}at most ${gpuHours(found.most_gpu_ms)}${charged}, as ${who}.`;
}

/** When one that would wait is expected to start, or why that is not known. */
export function Starts({ verdict }: { verdict: Verdict }) {
  const now = useNow();
  const { start, start_unknown, takeover_ms, guesses } = verdict;
  return (
    <>
      {takeover_ms > 0 && (
        <p>
          It waits until those in its way have saved their work, and takes over {relative(takeover_ms, now)} (
          <Time at={takeover_ms} exact estimate />) if nothing else happens until then.
        </p>
      )}
      {start && (
        <p>
          <strong>Starts within {span(start.p50 - now, start.p90 - now)}</strong>: as likely as not by the first, nine times in ten by
          the last.
        </p>
      )}
      {start_unknown && start_unknown !== "never" && (
        <p className="quiet">
          When it starts is unknown: {UNKNOWN[start_unknown]}
          {guesses.length > 0 && (
            <>
              , as <Name text={guesses.slice(0, 3).join(", ")} />
            </>
          )}
          .
        </p>
      )}
    </>
  );
}

const UNKNOWN = {
  blocked: "what it waits for is not room",
  guesses: "it hangs on work without a time limit or finished runs like it",
  no_end: "no expected end of what runs makes room for it",
  large: "the server knows too many gangs to find out before it is submitted",
} as const;
