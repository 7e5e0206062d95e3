/** Which queues took back from which, and why. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { reclaims } from "../../api/reads";
import type { ReclaimView } from "../../api/schema";
import { knownAs } from "../../ui/cluster_name";
import { gpus, plural } from "../../ui/numbers";
import { Command, Failure, Loading, Name, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { word } from "../../ui/text";

const SINCE = "7d";

function Queue({ name }: { name: string }) {
  if (!name) return <span className="quiet">another queue</span>;
  if (name.includes(":")) return <Name text={name} most={40} />;
  return (
    <Link to="/queues" search={{ queue: name }} replace>
      <Name text={name} most={40} />
    </Link>
  );
}

function Work({ name }: { name: string }) {
  if (!name) return <span className="quiet">another workload</span>;
  return (
    <Link to="/workloads/$ref" params={{ ref: name }}>
      <Name text={knownAs(name)} most={40} />
    </Link>
  );
}

const given = (row: ReclaimView) => (row.unknown === row.count ? null : row.gpu_milli / 1000);

const COLUMNS: readonly PlainColumn<ReclaimView>[] = [
  { key: "taker", title: "Taken by", value: (row) => row.taker, cell: (row) => <Queue name={row.taker} /> },
  { key: "giver", title: "From", value: (row) => row.giver, cell: (row) => <Queue name={row.giver} /> },
  {
    key: "gpus",
    title: "GPUs",
    align: "end",
    value: given,
    cell: (row) => (given(row) === null ? "unknown" : `${row.unknown ? "≥ " : ""}${gpus(row.gpu_milli)}`),
  },
  { key: "count", title: "Times", align: "end", wide: true, value: (row) => row.count, cell: (row) => row.count },
  {
    key: "last",
    title: "Last",
    wide: true,
    value: (row) => new Date(row.last_at).toISOString(),
    cell: (row) => <Time at={row.last_at} />,
  },
  { key: "why", title: "Why", className: "roomy-text", value: (row) => row.cause, cell: (row) => row.why },
];

/** Of the whole tree, or of one queue and those below it. */
export function Reclaims({ queue }: { queue?: string }) {
  const found = useQuery(reclaims(SINCE, queue));
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="who reclaimed from whom" />;
  const { items, known_since, left_out } = found.data;
  const id = (row: ReclaimView) => `${row.taker}/${row.giver}/${row.cause}`;
  const Heading = queue ? "h3" : "h2";
  return (
    <section>
      <Heading>Who reclaimed from whom</Heading>
      {items.length === 0 ? (
        <p className="quiet">
          {queue ? "No other queue took anything back from it, and it took nothing back, " : "No queue took anything back from another one "}
          in the last 7 days.
        </p>
      ) : queue ? (
        <ul className="lines">
          {items.map((each) => (
            <Line key={id(each)} row={each} />
          ))}
        </ul>
      ) : (
        <PlainTable label="Who reclaimed from whom" file="reclaims" one="line" columns={COLUMNS} rows={items} id={id} />
      )}
      {known_since !== null && (
        <p className="quiet">
          What was before <Time at={known_since} exact /> is not known.
        </p>
      )}
      {left_out && <p className="notice warn">There is more than can be read at once: the oldest of it is left out.</p>}
      {queue && <Command line={`ganglion queues describe ${word(queue)}`} />}
    </section>
  );
}

function Line({ row }: { row: ReclaimView }) {
  const gave = given(row);
  return (
    <li>
      <Queue name={row.taker} /> took {gave === null ? "GPUs" : `${row.unknown ? "at least " : ""}${plural(gave, "GPU")}`}{" "}
      from <Queue name={row.giver} />, {row.count === 1 ? "once" : `${row.count} times`}, last <Time at={row.last_at} />:{" "}
      {row.why}.
      <ul className="lines">
        {row.last.map((each) => (
          <li key={`${each.at}/${each.workload}/${each.for_workload}`}>
            <Time at={each.at} />: <Work name={each.workload} /> for <Work name={each.for_workload} />
            {each.gpu_milli !== null && `, ${plural(each.gpu_milli / 1000, "GPU")}`}
          </li>
        ))}
      </ul>
    </li>
  );
}
