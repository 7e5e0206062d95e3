/** The pages that there are, and which of them a user can read. */
import type { WhoAmI } from "../api/schema";
import { holds, may } from "./may";

/** Pages in the order of the navigation; a page without a group stands in the group of the one before. */
const PAGES: readonly { to: string; title: string; group?: string; needs?: readonly string[]; /** Of the whole fleet. */ fleet?: true }[] = [
  { to: "/", title: "Overview", group: "Work" },
  { to: "/queue", title: "Queue" },
  { to: "/fleet", title: "Fleet", fleet: true },
  { to: "/queues", title: "Queues" },
  { to: "/timeline", title: "Timeline", fleet: true },
  { to: "/usage", title: "Usage" },
  { to: "/budgets", title: "Budgets" },
  { to: "/what-if", title: "What if" },
  { to: "/audit", title: "Audit" },
  { to: "/submit", title: "Submit" },
  { to: "/services", title: "Services", group: "Kinds of work" },
  { to: "/workspaces", title: "Workspaces" },
  { to: "/sweeps", title: "Sweeps" },
  { to: "/schedules", title: "Schedules" },
  { to: "/nodes", title: "Nodes", group: "Operations", fleet: true },
  { to: "/bookings", title: "Bookings", fleet: true },
  { to: "/admin", title: "Admin", needs: ["admin", "auditor", "operator", "owner"] },
  { to: "/profile", title: "Profile" },
];

/** The pages that a user can read; the first of a group has its name. */
export function shownTo(me: WhoAmI): typeof PAGES {
  let group: string | undefined;
  let named: string | undefined;
  return PAGES.flatMap(({ group: own, ...each }) => {
    group = own ?? group;
    if ((each.needs && !holds(me, ...each.needs)) || (each.fleet && !may(me, "view"))) return [];
    const heads = group !== named && group !== undefined ? { group } : {};
    named = group;
    return [{ ...each, ...heads }];
  });
}
