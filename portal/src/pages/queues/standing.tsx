/** What bounds a queue, by whose rule, and what its past does to it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { usage } from "../../api/reads";
import type { BoundView, QueueView } from "../../api/schema";
import { hours } from "../../ui/numbers";
import { Badge, Failure, Name } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless } from "../../ui/text";
import { Bars } from "../usage/bars";
import { days } from "../usage/days";
import { about, amount, left, pastSaid } from "./bounds";

const SINCE = "14d";

interface BoundRow {
  bound: BoundView;
  own: boolean;
}

const COLUMNS: readonly PlainColumn<BoundRow>[] = [
  {
    key: "rule",
    title: "Rule",
    value: ({ bound }) => `${bound.rule} of ${bound.queue}`,
    cell: ({ bound, own }) => (
      <>
        {bound.rule}{" "}
        {own ? (
          <span className="quiet">of its own</span>
        ) : (
          <>
            of{" "}
            <Link to="/queues" search={{ queue: bound.queue }} replace>
              <Name text={bound.queue} most={30} />
            </Link>
          </>
        )}
        {bound.binds && (
          <>
            {" "}
            <Badge text="binds" tone={left(bound) ? "calm" : "wait"} />
          </>
        )}
      </>
    ),
  },
  { key: "what", title: "Of", value: ({ bound }) => about(bound), cell: ({ bound }) => harmless(about(bound), 40) },
  { key: "used", title: "Used", align: "end", value: ({ bound }) => bound.used, cell: ({ bound }) => amount(bound, bound.used) },
  { key: "most", title: "Most", align: "end", value: ({ bound }) => bound.most, cell: ({ bound }) => amount(bound, bound.most) },
];

export function Bounds({ queue }: { queue: QueueView }) {
  const rows = queue.bounds.map((bound) => ({ bound, own: bound.queue === queue.name }));
  return (
    <section>
      <h3>What bounds it</h3>
      {rows.length ? (
        <>
          <PlainTable
            label="What bounds it"
            columns={COLUMNS}
            rows={rows}
            id={({ bound }) => `${bound.queue}/${bound.rule}/${bound.flavor}/${bound.resource}`}
          />
          <p className="quiet">
            What binds leaves the least. A quota bounds work that may not be stopped; used is what counts against the rule, in its queue and
            below.
          </p>
        </>
      ) : (
        <p className="quiet">Nothing but the GPUs that there are: neither it nor a queue above it has a limit or a quota.</p>
      )}
    </section>
  );
}

export function Past({ queue }: { queue: QueueView }) {
  const found = useQuery(usage({ by: "day", since: SINCE, queue: queue.name }));
  const bars = found.data ? days(found.data.items, found.data.since, found.data.until, "hours") : [];
  return (
    <section aria-label="What it has used">
      <h3>What it has used</h3>
      {queue.past ? (
        pastSaid(queue, queue.past).map((each) => <p key={each}>{each}</p>)
      ) : (
        <p className="quiet">The policy does not remember use: what a queue has used changes nothing about its standing.</p>
      )}
      {found.error && !found.data && <Failure error={found.error} />}
      {found.data && !bars.some((each) => each.value) && <p className="quiet">It held nothing in the last two weeks.</p>}
      {bars.some((each) => each.value) && (
        <Bars label="GPU-hours held by day of UTC" bars={bars} said={hours} />
      )}
    </section>
  );
}
