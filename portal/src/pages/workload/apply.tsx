/** A suggestion that is applied by a click, after it was tried once more. */
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { change, get, part } from "../../api/client";
import type { Suggestion } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { plural } from "../../ui/numbers";
import { harmless, word } from "../../ui/text";
import { changeOf, optionsOf } from "./suggested";

export function Apply({ job, gang, about }: { job: string; gang: string; about: Suggestion }) {
  const queries = useQueryClient();
  const wanted = changeOf(about);
  if (!wanted)
    return about.pods || about.gpus ? (
      <Link
        className="button small"
        to="/submit"
        search={{ from: job, nodes: about.pods || undefined, gpus: about.gpus || undefined }}
      >
        Clone with that
      </Link>
    ) : null;
  const act = async () => {
    // What was shown may be old: the server tries it anew on a copy of the present state.
    const now = await get("/workloads/{ref}/why", { ref: job });
    const known = now.explanations.find((each) => each.gang === gang);
    if (!known?.suggestions.some((each) => each.change === about.change))
      throw new Error("Tried again, it would not start it any more; nothing was changed. Look at what would help now.");
    await change("PATCH", `/workloads/${part(job)}`, wanted);
    await queries.invalidateQueries();
  };
  return (
    <Confirm
      small
      label="Apply"
      title={`Apply: ${harmless(about.change, 100)}?`}
      line={`ganglion update ${word(job)} ${optionsOf(about)}`}
      act={act}
    >
      <p>
        It is tried once more on a copy of the present state first, and only applied if it would still start the job
        {about.stops.length > 0 && `; it would stop or move ${plural(about.stops.length, "gang")}`}.
      </p>
    </Confirm>
  );
}
