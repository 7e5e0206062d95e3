/** What was held over a period, what it cost, and what was idle. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { queues, usage } from "../../api/reads";
import type { FlavorUsage, LentRow, UsagePage as Page, UsageRow } from "../../api/schema";
import { knownAs } from "../../ui/cluster_name";
import { count, gpuHours, hours, money, plural } from "../../ui/numbers";
import { Command, Empty, Failure, Figure, Loading, Meter, Name, Time } from "../../ui/parts";
import { PeriodFields, periodOptions } from "../../ui/period";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { RowLink } from "../../ui/row_link";
import { Table, type Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { Bars } from "./bars";
import { days, type Measure } from "./days";

const route = getRouteApi("/usage");
const USUAL = "7d";

export const BYS = ["queue", "user", "workload", "flavor", "kind", "day"] as const;
type By = (typeof BYS)[number];

export function UsagePage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const by: By = search.by ?? "queue";
  const { until, queue } = search;
  const since = search.since ?? USUAL;
  const found = useQuery(usage({ by, since, until, queue }));
  const set = (more: Partial<typeof search>) =>
    void go({ search: (was) => ({ ...was, ...more }), replace: true });
  const page = found.data;
  const columns = useMemo(() => (page ? columnsOf(by, page) : []), [by, page]);
  const line = ["ganglion usage"]
    .concat(by === "queue" ? [] : [`--by ${by}`])
    .concat(periodOptions({ since, until }, USUAL))
    .concat(queue ? [`-q ${word(queue)}`] : []);
  return (
    <>
      <h1>Usage and cost</h1>
      <p className="lead">
        GPU-hours that attempts held, from their placement to their end; what runs counts until now.
      </p>
      <div className="filters">
        <label>
          By
          <select value={by} onChange={(event) => set({ by: event.target.value as By, sort: undefined })}>
            {BYS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <PeriodFields value={{ since, until }} usual={USUAL} set={(period) => set(period)} />
        <QueueChoice value={queue} set={(name) => set({ queue: name })} />
      </div>
      {found.error && <Failure error={found.error} />}
      {!page && !found.error && <Loading what="the usage" />}
      {page && (
        <>
          <Totals page={page} />
          {!page.items.length ? (
            <Nothing page={page} />
          ) : (
            <>
              <DayBars since={since} until={until} queue={queue} measure={search.bars ?? "hours"} choose={(bars) => set({ bars })} />
              <Table
                label={`Usage by ${by}`}
                file={`usage-by-${by}`}
                columns={columns}
                rows={page.items}
                id={(row) => row[by]}
                sort={search.sort ?? (by === "day" ? undefined : "-held")}
                onSort={(sort) => set({ sort })}
              />
            </>
          )}
          <Fleet page={page} />
          {page.guessed.length > 0 && (
            <p>
              Some parts of GPUs of {page.guessed.map((each) => harmless(each)).join(", ")} count as whole GPUs, as it is unknown
              which part they are.
            </p>
          )}
          <Lent page={page} />
          <Corrections page={page} />
          <Command line={line.join(" ")} />
        </>
      )}
    </>
  );
}

function QueueChoice(props: { value: string | undefined; set(name: string | undefined): void }) {
  const found = useQuery(queues);
  const names = (found.data?.items.map((each) => each.name) ?? []).concat(props.value ?? []);
  return (
    <label>
      Queue
      <select value={props.value ?? ""} onChange={(event) => props.set(event.target.value || undefined)}>
        <option value="">all</option>
        {[...new Set(names)].map((each) => (
          <option key={each} value={each}>
            {harmless(each, 60)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Totals({ page }: { page: Page }) {
  const { total, currency, fleet } = page;
  const sum = (key: "capacity_gpu_us" | "idle_gpu_us" | "idle_micro") =>
    fleet?.reduce((all, each) => all + each[key], 0) ?? 0;
  const capacity = sum("capacity_gpu_us");
  return (
    <dl className="figures">
      <Figure label="GPU-hours held" value={hours(gpuHours(total.held_gpu_us))}>
        {plural(total.attempts, "attempt")}
        {capacity > 0 && (
          <>
            ; there were {hours(gpuHours(capacity))} to hold
            <Meter label="Held of what there was" used={total.held_gpu_us} of={capacity} />
          </>
        )}
      </Figure>
      <Figure label="Cost" value={currency ? money(total.cost_micro, currency) : "no prices"}>
        {!currency && <code>ganglion price set FLAVOR AMOUNT --currency EUR</code>}
        {total.unpriced_gpu_us > 0 && currency && (
          <div>{hours(gpuHours(total.unpriced_gpu_us))} GPU-hours have no price</div>
        )}
        {total.corrected_micro !== 0 && (
          <div>{money(total.corrected_micro, currency)} by prices that were set afterwards</div>
        )}
      </Figure>
      {total.active_gpu_us !== null && (
        <Figure label="Active GPU-hours" value={hours(gpuHours(total.active_gpu_us))}>
          of {hours(gpuHours(total.sampled_gpu_us))} sampled by {total.active_by}, {sampled(total)} of what was held
          {total.useful_gpu_us !== null && <>; useful {hours(gpuHours(total.useful_gpu_us))}</>}
          {total.energy_mj !== null && <>; {energy(total)} drawn, by {total.energy_by || "a counter"}</>}
          <Meter label="Active of what was sampled" used={total.active_gpu_us} of={total.sampled_gpu_us} />
        </Figure>
      )}
      {total.lost_gpu_us !== null && (
        <Figure label="Lost GPU-hours" value={hours(gpuHours(total.lost_gpu_us))}>
          held, and their work thrown away by preemptions, nodes and failures
          {page.lost_since !== null && page.lost_since > page.since && (
            <>
              ; known since <Time at={page.lost_since} exact />
            </>
          )}
        </Figure>
      )}
      {fleet && (
        <Figure label="Idle GPU-hours" value={hours(gpuHours(sum("idle_gpu_us")))}>
          {currency ? `${money(sum("idle_micro"), currency)} for GPUs that nothing held` : "ready, and not held"}
        </Figure>
      )}
    </dl>
  );
}

function Nothing({ page }: { page: Page }) {
  return (
    <Empty title="Nothing was held in this period">
      {page.metered_since ? (
        <p>
          Metering began <Time at={page.metered_since} exact />. Choose another period, or{" "}
          <Link to="/submit">submit a workload</Link>.
        </p>
      ) : (
        <p>
          <Link to="/submit">Submit a workload</Link>: what it holds is metered from its placement on.
        </p>
      )}
    </Empty>
  );
}

function DayBars(props: {
  since: string;
  until: string | undefined;
  queue: string | undefined;
  measure: Measure;
  choose(measure: "cost" | undefined): void;
}) {
  const { since, until, queue, measure, choose } = props;
  const found = useQuery(usage({ by: "day", since, until, queue }));
  const page = found.data;
  const bars = useMemo(
    () => (page ? days(page.items, page.since, page.until, measure) : []),
    [page, measure],
  );
  if (!page || bars.length < 2) return null;
  const said = (value: number) =>
    measure === "cost" ? money(value * 1e6, page.currency) : `${count(value)} GPU-hours`;
  return (
    <Bars label={`${measure === "cost" ? "Cost" : "GPU-hours held"} by day of UTC`} bars={bars} said={said}>
      <select
        aria-label="Bars show"
        value={measure}
        onChange={(event) => choose(event.target.value === "cost" ? "cost" : undefined)}
      >
        <option value="hours">GPU-hours</option>
        <option value="cost">cost</option>
      </select>
    </Bars>
  );
}

/** The part of what was held of which it is known how active it was. */
function sampled(row: UsageRow): string {
  return `${count(Math.floor((100 * row.sampled_gpu_us) / (row.held_gpu_us || 1)))} %`;
}

function energy(row: UsageRow): string {
  return row.energy_mj === null ? "unknown" : `${count(row.energy_mj / 3.6e9)} kWh`;
}

/** GPU-hours that may be unknown. */
function known(key: "active_gpu_us" | "useful_gpu_us" | "lost_gpu_us", title: string): Column<UsageRow> {
  return {
    key: key.replace("_gpu_us", ""),
    title,
    width: "minmax(6rem, 1fr)",
    align: "end",
    wide: true,
    value: (row) => (row[key] === null ? null : gpuHours(row[key])),
    cell: (row) => (row[key] === null ? "unknown" : hours(gpuHours(row[key]))),
  };
}

/** Columns of what GPUs did, where anything was sampled. */
const ACTIVITY: readonly Column<UsageRow>[] = [
  known("active_gpu_us", "Active"),
  known("useful_gpu_us", "Useful"),
  {
    key: "sampled",
    title: "Sampled",
    width: "minmax(5rem, 1fr)",
    align: "end",
    wide: true,
    value: (row) => row.sampled_gpu_us / (row.held_gpu_us || 1),
    cell: sampled,
  },
  {
    key: "energy",
    title: "Energy",
    width: "minmax(6rem, 1fr)",
    align: "end",
    wide: true,
    value: (row) => row.energy_mj,
    cell: energy,
  },
];

function columnsOf(by: By, page: Page): readonly Column<UsageRow>[] {
  const whole = page.total.held_gpu_us || 1;
  const unpriced = page.items.some((each) => each.unpriced_gpu_us > 0);
  const micro = (key: "cost_micro" | "list_micro" | "idle_micro", title: string, wide: boolean) => ({
    key,
    title,
    width: "minmax(6rem, 1fr)",
    align: "end" as const,
    wide,
    value: (row: UsageRow) => row[key] / 1e6,
    cell: (row: UsageRow) => money(row[key], page.currency),
  });
  const held = (key: "held_gpu_us" | "unpriced_gpu_us", title: string, wide: boolean) => ({
    key: key === "held_gpu_us" ? "held" : key,
    title,
    width: "minmax(6rem, 1fr)",
    align: "end" as const,
    wide,
    value: (row: UsageRow) => gpuHours(row[key]),
    cell: (row: UsageRow) => hours(gpuHours(row[key])),
  });
  return [
    {
      key: by,
      title: by[0]?.toUpperCase() + by.slice(1),
      width: "minmax(9rem, 2fr)",
      narrow: "minmax(6rem, 1.5fr)",
      value: (row) => row[by],
      cell: (row) => <Group by={by} name={row[by]} />,
    },
    held("held_gpu_us", "GPU-hours", false),
    {
      key: "share",
      title: "Share",
      width: "minmax(6rem, 1fr)",
      align: "end",
      wide: true,
      value: (row) => Math.round((1000 * row.held_gpu_us) / whole) / 10,
      cell: (row) => `${count(Math.round((1000 * row.held_gpu_us) / whole) / 10)} %`,
    },
    {
      key: "attempts",
      title: "Attempts",
      width: "minmax(5rem, 1fr)",
      align: "end",
      wide: true,
      value: (row) => row.attempts,
      cell: (row) => count(row.attempts),
    },
    ...(page.total.lost_gpu_us ? [known("lost_gpu_us", "Lost")] : []),
    ...(page.total.sampled_gpu_us ? ACTIVITY : []),
    ...(page.currency
      ? [
          micro("cost_micro", `Cost ${page.currency}`, false),
          ...(page.fleet ? [micro("idle_micro", "Idle cost", true)] : []),
        ]
      : []),
    ...(page.currency && unpriced ? [held("unpriced_gpu_us", "Without price", true)] : []),
  ];
}

function Group({ by, name }: { by: By; name: string }) {
  if (by === "workload" && name)
    return (
      <RowLink job={name}>
        <Name text={knownAs(name)} most={64} />
      </RowLink>
    );
  if (by === "queue" && name && !name.includes(":"))
    return (
      <Link to="/queues" search={{ queue: name }} tabIndex={-1}>
        <Name text={name} most={64} />
      </Link>
    );
  return <Name text={name || "–"} most={64} />;
}

function Fleet({ page }: { page: Page }) {
  if (!page.fleet?.length) return null;
  return (
    <section aria-label="By flavor">
      <h2>What there was, by flavor</h2>
      <PlainTable
        label="What there was, by flavor"
        file="capacity"
        one="flavor"
        columns={fleetColumns(page.currency)}
        rows={page.fleet}
        id={(row) => row.flavor}
      />
    </section>
  );
}

function fleetColumns(currency: string): readonly PlainColumn<FlavorUsage>[] {
  const held = (key: "capacity_gpu_us" | "held_gpu_us" | "idle_gpu_us" | "unavailable_gpu_us", title: string) => ({
    key,
    title,
    align: "end" as const,
    value: (row: FlavorUsage) => gpuHours(row[key]),
    cell: (row: FlavorUsage) => hours(gpuHours(row[key])),
  });
  const micro = (key: "charged_micro" | "idle_micro" | "unavailable_micro", title: string) => ({
    key,
    title,
    align: "end" as const,
    wide: key !== "idle_micro",
    value: (row: FlavorUsage) => row[key] / 1e6,
    cell: (row: FlavorUsage) => money(row[key], currency),
  });
  return [
    { key: "flavor", title: "Flavor", value: (row) => row.flavor, cell: (row) => <Name text={row.flavor || "no GPU"} most={40} /> },
    held("capacity_gpu_us", "GPU-hours"),
    held("held_gpu_us", "Held"),
    held("idle_gpu_us", "Idle"),
    { ...held("unavailable_gpu_us", "Unavailable"), wide: true },
    ...(currency
      ? [
          micro("charged_micro", "Charged"),
          micro("idle_micro", "Cost of idle"),
          micro("unavailable_micro", "Cost of unavailable"),
        ]
      : []),
  ];
}

const LENT: readonly PlainColumn<LentRow>[] = [
  { key: "queue", title: "Queue", value: (row) => row.queue, cell: (row) => <Group by="queue" name={row.queue} /> },
  {
    key: "parent",
    title: "Under",
    wide: true,
    value: (row) => row.parent,
    cell: (row) => <Name text={row.parent || "–"} most={40} />,
  },
  ...(["lent_gpu_us", "borrowed_gpu_us"] as const).map((key) => ({
    key,
    title: key === "lent_gpu_us" ? "Lent" : "Borrowed",
    align: "end" as const,
    value: (row: LentRow) => gpuHours(row[key]),
    cell: (row: LentRow) => hours(gpuHours(row[key])),
  })),
];

function Lent({ page }: { page: Page }) {
  if (!page.lent.length) return null;
  return (
    <section aria-label="Lent and borrowed">
      <h2>Lent and borrowed, in GPU-hours</h2>
      <p className="quiet">
        Lent is quota that a queue did not use and queues beside it did. Among the queues under one parent, what is lent
        is what is borrowed.
      </p>
      <PlainTable
        label="What queues lent and borrowed"
        file="lent"
        one="queue"
        columns={LENT}
        rows={page.lent}
        id={(row) => row.queue}
      />
    </section>
  );
}

function Corrections({ page }: { page: Page }) {
  if (!page.corrections.length) return null;
  return (
    <section aria-label="Corrections">
      <h2>Corrections</h2>
      <p className="quiet">Prices that were set after the time they are about changed what was charged:</p>
      <ul className="lines">
        {page.corrections.map((each) => (
          <li key={each.number}>
            price {each.number} of <Name text={each.flavor} most={40} />, set <Time at={each.at} exact />:{" "}
            {money(each.change_micro, page.currency)}
          </li>
        ))}
      </ul>
    </section>
  );
}
