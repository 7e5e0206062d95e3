/** What the top of every page says about whether it is true now. */
import type { Live } from "./live";

export interface Mark {
  text: string;
  className: string;
}

const MARKS: Record<Live["state"], Mark> = {
  live: { text: "Live", className: "live" },
  connecting: { text: "Connecting", className: "connecting" },
  gone: { text: "Not live", className: "gone" },
  ended: { text: "Signed out", className: "ended" },
};

/** A page of another build reads answers that it may misunderstand: that is not live. */
export function markOf({ state, outdated }: Pick<Live, "state" | "outdated">): Mark {
  return outdated && state === "live" ? { text: "Old page", className: "gone" } : MARKS[state];
}
