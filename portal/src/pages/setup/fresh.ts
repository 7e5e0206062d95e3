/** Whether this is a new home, whose first page helps to set it up. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { get } from "../../api/client";
import { queues } from "../../api/reads";
import type { WhoAmI } from "../../api/schema";
import { mayBelow } from "../queues/may";

const KEPT = "first-steps";
type State = "new" | "open" | "done";

function kept(): State {
  try {
    const found = localStorage.getItem(KEPT);
    return found === "open" || found === "done" ? found : "new";
  } catch {
    return "done"; // a browser that keeps nothing would show it again and again
  }
}

export function keepState(state: State): void {
  try {
    localStorage.setItem(KEPT, state);
  } catch {
    // it is not shown then
  }
}

/** Any workload, of any user, that there ever was. */
const any = queryOptions({
  queryKey: ["workloads", "any"],
  queryFn: ({ signal }) => get("/workloads", {}, { all: true, limit: 1 }, signal),
});

/** Whether the first steps are shown: once, to those who may set up the fleet, before anything was done. */
export function useFirstSteps(me: WhoAmI): [boolean, () => void] {
  const [state, setState] = useState(kept);
  const asks = state !== "done" && mayBelow(me, []);
  const listed = useQuery({ ...queues, enabled: asks && state === "new" });
  const work = useQuery({ ...any, enabled: asks });
  const unused = asks && work.data?.items.length === 0;
  const fresh = unused && state === "new" && listed.data?.items.every((each) => each.name === "default");
  useEffect(() => {
    if (!fresh) return;
    keepState("open");
    setState("open");
  }, [fresh]);
  const end = () => {
    keepState("done");
    setState("done");
  };
  return [state === "open" && unused, end];
}
