/** Whether every event is as it was signed, and what anchors prove. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Button } from "react-aria-components";
import { verification } from "../../api/reads";
import type { TrailVerdict } from "../../api/schema";
import { count, plural } from "../../ui/numbers";
import { Command, Failure, Name, Time } from "../../ui/parts";
import { harmless } from "../../ui/text";
import { coverage } from "./said";

export function Verification() {
  const found = useQuery(verification);
  return (
    <section aria-label="Verification">
      <div className="buttons">
        <Button isDisabled={found.isFetching} onPress={() => void found.refetch()}>
          {found.isFetching ? "Checking every event …" : found.data ? "Verify again" : "Verify"}
        </Button>
        {!found.data && !found.error && (
          <span className="quiet beside">checks every event, its signatures, and what anchors hold</span>
        )}
      </div>
      {found.error && <Failure error={found.error} />}
      {found.data && <Verdict found={found.data} />}
    </section>
  );
}

function Verdict({ found }: { found: TrailVerdict }) {
  return (
    <div className={`notice ${found.sound ? "good" : "bad"}`} role="status">
      <strong>{found.sound ? "Sound" : `${plural(found.flaws.length, "flaw")}: not as it was signed`}</strong>, checked{" "}
      <Time at={found.at} />: events {count(found.first)} to {count(found.last)}, {plural(found.checkpoints, "checkpoint")}
      , signed up to event {count(found.signed)}
      {found.unsigned > 0 && `; ${plural(found.unsigned, "event")} after it, which the next checkpoint covers`}.
      {found.flaws.length > 0 && (
        <ul>
          {found.flaws.map((each, n) => (
            <li key={n}>
              {harmless(each.problem, 500)}{" "}
              {each.seq > 0 && (
                <Link to="/audit" search={{ since: "all", event: String(each.seq) }}>
                  event {each.seq}
                </Link>
              )}
            </li>
          ))}
        </ul>
      )}
      <p>
        Log <Name text={found.log} most={100} />, key <code>{harmless(found.key, 40)}</code>: compare it with the one
        that the owner gave you.
      </p>
      {found.anchors.length ? (
        <ul>
          {found.anchors.map((each) => (
            <li key={each.where}>
              Anchor <Name text={each.where} most={200} />:{" "}
              {each.problem
                ? harmless(each.problem, 500)
                : `${plural(each.checkpoints, "checkpoint")} of this log`}
            </li>
          ))}
          {coverage(found).map((each) => (
            <li key={each.first}>
              Events {count(each.first)} to {count(each.last)}: {harmless(each.by, 500)}
            </li>
          ))}
        </ul>
      ) : (
        <p>
          There is no anchor: the owner of the server&apos;s home could rewrite all of it. <code>audit.yaml</code> names
          anchors.
        </p>
      )}
      {found.unwritten && <p>{harmless(found.unwritten, 500)}</p>}
      <Command line="ganglion audit verify" />
    </div>
  );
}
