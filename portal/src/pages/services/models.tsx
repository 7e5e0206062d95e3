/** Models: which live work has them, and which lie on the machine of the server. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { change, part } from "../../api/client";
import { models } from "../../api/reads";
import type { ModelRow, ModelStore } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { plural } from "../../ui/numbers";
import { Badge, Command, Meter, Name, Time } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless, word } from "../../ui/text";
import { baseOf, bytes, idOfModel, keptOf, modelsOf, saidOf, type ModelAt } from "./kept";

/** How far a download is, is no event. */
const AGAIN_MS = 5_000;
const NAMED = 4;
const TONES: Record<string, string> = { cached: "good", fetching: "busy", queued: "wait", failed: "bad" };

const COLUMNS: readonly PlainColumn<ModelAt>[] = [
  {
    key: "model",
    title: "Model",
    value: (row) => row.uri,
    cell: (row) => (
      <span title={harmless(row.uri, 500)}>
        <Name text={baseOf(row)} most={80} />
      </span>
    ),
  },
  {
    key: "version",
    title: "Version",
    wide: true,
    value: (row) => row.version,
    cell: (row) => (row.version ? <Name text={row.version} most={12} /> : "–"),
  },
  {
    key: "kept",
    title: "On the server's machine",
    value: (row) => keptOf(row.kept),
    cell: (row) => <Kept row={row} />,
  },
  { key: "used", title: "Used last", wide: true, value: (row) => (row.used ? new Date(row.used).toISOString() : null), cell: (row) => <Time at={row.used} /> },
  {
    key: "users",
    title: "Used by",
    value: (row) => row.users.join(" "),
    cell: (row) => <Users ids={row.users} />,
  },
];

export function Models() {
  const found = useQuery({ ...models, refetchInterval: AGAIN_MS });
  if (!found.data) return null;
  const rows = modelsOf(found.data);
  const { store } = found.data;
  if (!rows.length && !store) return null;
  return (
    <section aria-label="Models">
      <h2>Models</h2>
      {store && <Store store={store} />}
      {rows.length ? (
        <PlainTable label="Each model" className="models" file="models" one="model" columns={COLUMNS} rows={rows} id={idOfModel} />
      ) : (
        <p className="quiet">None lies there yet: models of gangs that wait with a place of their own are fetched.</p>
      )}
      <Command line="ganglion models list -o wide" />
    </section>
  );
}

function Store({ store }: { store: ModelStore }) {
  const held = store.models.reduce((sum, each) => sum + each.bytes, 0);
  const said = `${plural(store.models.length, "model")}, ${bytes(held)}${store.limit ? ` of at most ${bytes(store.limit)}` : ""}`;
  return (
    <>
      {store.trouble && <p className="notice warn">No model is kept: {harmless(store.trouble, 500)}</p>}
      {store.folder && (
        <p className="lead">
          {said} in <Name text={store.folder} most={100} />. What was used longest ago goes first where another one needs the
          room.
        </p>
      )}
    </>
  );
}

function Kept({ row }: { row: ModelAt }) {
  const { kept } = row;
  if (!kept) return <span className="quiet">none are kept</span>;
  const [state, more] = saidOf(kept);
  return (
    <>
      <Badge text={state} tone={TONES[kept.state] ?? "calm"} /> {harmless(more, 300)}
      {kept.state === "fetching" && kept.of > 0 && <Meter label={keptOf(kept)} used={kept.bytes} of={kept.of} />}
    </>
  );
}

function Users({ ids }: { ids: readonly string[] }) {
  if (!ids.length) return <span className="quiet">no live workload</span>;
  return (
    <>
      {ids.slice(0, NAMED).map((each, n) => (
        <span key={each}>
          {n > 0 && ", "}
          <Link to="/workloads/$ref" params={{ ref: each }}>
            <Name text={each} most={40} />
          </Link>
        </span>
      ))}
      {ids.length > NAMED && ` and ${ids.length - NAMED} more`}
    </>
  );
}

/** Gives a service what its reference means now, or the model before. */
export function ModelButtons({ row }: { row: ModelRow }) {
  const path = `/workloads/${part(row.workload)}/model`;
  const line = `ganglion models update ${word(row.workload)}`;
  const how = "One more replica than wanted starts; once it answers, the oldest one with the former model finishes its requests and ends; then the next.";
  return (
    <>
      {row.moved && row.now && (
        <Confirm
          label="Update the model"
          title={`Give ${harmless(row.workload, 60)} what its reference means now?`}
          line={line}
          act={() => change("POST", path, { to: "", back: false, surge: 1 })}
        >
          <p>
            From {harmless(row.model?.version ?? "", 80)} to {harmless(row.now.version || row.now.uri, 200)}. {how}
          </p>
        </Confirm>
      )}
      {row.before && (
        <Confirm
          label="Back to the model before"
          title={`Give ${harmless(row.workload, 60)} the model before its last update?`}
          line={`${line} --back`}
          act={() => change("POST", path, { to: "", back: true, surge: 1 })}
        >
          <p>
            It had {harmless(row.before.version || row.before.uri, 200)}. {how}
          </p>
        </Confirm>
      )}
    </>
  );
}
