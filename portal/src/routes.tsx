/** The pages, and what of their state is in the address. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { Empty, Failure } from "./ui/parts";
import { Shell } from "./shell";
import { OverviewPage } from "./pages/overview/overview";

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value ? value : typeof value === "number" ? String(value) : undefined;

function only<T extends string>(known: readonly T[], value: unknown): T | undefined {
  return known.includes(value as T) ? (value as T) : undefined;
}

const whole = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** Leaves out keys without a value, so that addresses stay short. */
function short<T extends object>(found: T): Partial<T> {
  const kept = Object.entries(found).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as Partial<T>;
}

/** Files of a page are gone where the server serves another build by now. */
const MISSING = /dynamically imported module|module script failed|preload CSS/i;

function Broken({ error }: { error: Error }) {
  if (!MISSING.test(error.message)) return <Failure error={error} />;
  return (
    <div className="notice warn" role="alert">
      <strong>A part of this page could not be read.</strong>
      <p>Either the server does not answer, or it is another version by now: then the page has to be read again.</p>
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  );
}

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <Empty title="There is no such page">
      <p>
        <a href="/">Overview</a>
      </p>
    </Empty>
  ),
  errorComponent: ({ error }) => <Broken error={error instanceof Error ? error : new Error(String(error))} />,
});

const overview = createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage });

const queue = createRoute({
  getParentRoute: () => root,
  path: "/queue",
  validateSearch: (search: Record<string, unknown>) =>
    short({
      text: text(search["text"]),
      reason: text(search["reason"]),
      queue: text(search["queue"]),
      user: text(search["user"]),
      kind: text(search["kind"]),
      group: only(["queue", "user", "reason", "kind", "workload"], search["group"]),
      mine: search["mine"] === true ? true : undefined,
      sort: text(search["sort"]),
      job: text(search["job"]),
    }),
  component: lazyRouteComponent(() => import("./pages/queue/queue"), "QueuePage"),
});

export const TABS = ["why", "logs", "use", "placement", "spec"] as const;

const workload = createRoute({
  getParentRoute: () => root,
  path: "/workloads/$ref",
  validateSearch: (search: Record<string, unknown>) =>
    short({
      tab: only(TABS, search["tab"]),
      gang: typeof search["gang"] === "number" ? search["gang"] : undefined,
      rank: typeof search["rank"] === "number" ? search["rank"] : undefined,
      attempt: typeof search["attempt"] === "number" ? search["attempt"] : undefined,
      find: text(search["find"]),
    }),
  component: lazyRouteComponent(() => import("./pages/workload/workload"), "WorkloadPage"),
});

const usage = createRoute({
  getParentRoute: () => root,
  path: "/usage",
  validateSearch: (search: Record<string, unknown>) =>
    short({
      by: only(["queue", "user", "workload", "flavor", "kind", "day"], search["by"]),
      since: text(search["since"]),
      until: text(search["until"]),
      queue: text(search["queue"]),
      bars: only(["hours", "cost"], search["bars"]),
      sort: text(search["sort"]),
    }),
  component: lazyRouteComponent(() => import("./pages/usage/usage"), "UsagePage"),
});

const budgets = createRoute({
  getParentRoute: () => root,
  path: "/budgets",
  validateSearch: (search: Record<string, unknown>) =>
    short({ queue: text(search["queue"]), all: search["all"] === true ? (true as const) : undefined }),
  component: lazyRouteComponent(() => import("./pages/budgets/budgets"), "BudgetsPage"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: (search: Record<string, unknown>) =>
    short({
      actor: text(search["actor"]),
      kind: text(search["kind"]),
      queue: text(search["queue"]),
      workload: text(search["workload"]),
      node: text(search["node"]),
      glass: search["glass"] === true ? true : undefined,
      since: text(search["since"]),
      until: text(search["until"]),
      event: text(search["event"]),
      sort: text(search["sort"]),
    }),
  component: lazyRouteComponent(() => import("./pages/audit/audit"), "AuditPage"),
});

const timeline = createRoute({
  getParentRoute: () => root,
  path: "/timeline",
  validateSearch: (search: Record<string, unknown>) =>
    short({
      view: only(["list"], search["view"]),
      zoom: whole(search["zoom"]),
      at: whole(search["at"]),
      node: text(search["node"]),
      text: text(search["text"]),
      gang: text(search["gang"]),
      sort: text(search["sort"]),
    }),
  component: lazyRouteComponent(() => import("./pages/timeline/timeline"), "TimelinePage"),
});

const lab = createRoute({
  getParentRoute: () => root,
  path: "/what-if",
  validateSearch: (search: Record<string, unknown>) =>
    short({
      since: text(search["since"]),
      until: text(search["until"]),
      nodes: text(search["nodes"]),
      queues: text(search["queues"]),
      prices: text(search["prices"]),
      sort: text(search["sort"]),
    }),
  component: lazyRouteComponent(() => import("./pages/whatif/lab"), "LabPage"),
});

const answer = createRoute({
  getParentRoute: () => root,
  path: "/what-if/$question",
  validateSearch: (search: Record<string, unknown>) =>
    short({ all: search["all"] === true ? (true as const) : undefined }),
  component: lazyRouteComponent(() => import("./pages/whatif/answer"), "AnswerPage"),
});

const submit = createRoute({
  getParentRoute: () => root,
  path: "/submit",
  validateSearch: (search: Record<string, unknown>) =>
    short({
      template: text(search["template"]),
      from: text(search["from"]),
      nodes: whole(search["nodes"]),
      gpus: whole(search["gpus"]),
    }),
  component: lazyRouteComponent(() => import("./pages/submit/submit"), "SubmitPage"),
});

const fleet = createRoute({
  getParentRoute: () => root,
  path: "/fleet",
  validateSearch: (search: Record<string, unknown>) =>
    short({
      color: only(["use", "health", "queue", "block", "activity", "power"], search["color"]),
      view: only(["map", "list"], search["view"]),
      node: text(search["node"]),
      sort: text(search["sort"]),
    }),
  component: lazyRouteComponent(() => import("./pages/fleet/fleet"), "FleetPage"),
});

const queues = createRoute({
  getParentRoute: () => root,
  path: "/queues",
  validateSearch: (search: Record<string, unknown>) =>
    short({ queue: text(search["queue"]), edit: only(["rules", "new"], search["edit"]) }),
  component: lazyRouteComponent(() => import("./pages/queues/queues"), "QueuesPage"),
});

/** What lists have in their addresses: the chosen row, text to find, sorting. */
const listed = (search: Record<string, unknown>) =>
  short({ at: text(search["at"]), text: text(search["text"]), sort: text(search["sort"]), state: text(search["state"]) });

const nodes = createRoute({
  getParentRoute: () => root,
  path: "/nodes",
  validateSearch: listed,
  component: lazyRouteComponent(() => import("./pages/nodes/nodes"), "NodesPage"),
});

const services = createRoute({
  getParentRoute: () => root,
  path: "/services",
  validateSearch: listed,
  component: lazyRouteComponent(() => import("./pages/services/services"), "ServicesPage"),
});

const workspaces = createRoute({
  getParentRoute: () => root,
  path: "/workspaces",
  validateSearch: listed,
  component: lazyRouteComponent(() => import("./pages/workspaces/workspaces"), "WorkspacesPage"),
});

const sweeps = createRoute({
  getParentRoute: () => root,
  path: "/sweeps",
  validateSearch: (search: Record<string, unknown>) => ({ ...listed(search), ...short({ metric: text(search["metric"]) }) }),
  component: lazyRouteComponent(() => import("./pages/sweeps/sweeps"), "SweepsPage"),
});

const schedules = createRoute({
  getParentRoute: () => root,
  path: "/schedules",
  validateSearch: listed,
  component: lazyRouteComponent(() => import("./pages/schedules/schedules"), "SchedulesPage"),
});

const bookings = createRoute({
  getParentRoute: () => root,
  path: "/bookings",
  validateSearch: listed,
  component: lazyRouteComponent(() => import("./pages/bookings/bookings"), "BookingsPage"),
});

export const ADMIN_TABS = ["users", "roles", "tokens", "sessions", "prices", "policy"] as const;

const admin = createRoute({
  getParentRoute: () => root,
  path: "/admin",
  validateSearch: (search: Record<string, unknown>) => ({
    ...listed(search),
    ...short({ tab: only(ADMIN_TABS, search["tab"]), version: typeof search["version"] === "number" ? search["version"] : undefined }),
  }),
  component: lazyRouteComponent(() => import("./pages/admin/admin"), "AdminPage"),
});

const profile = createRoute({
  getParentRoute: () => root,
  path: "/profile",
  component: lazyRouteComponent(() => import("./pages/profile/profile"), "ProfilePage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    ...[overview, queue, workload, submit, fleet, queues],
    ...[usage, budgets, audit, timeline, lab, answer],
    ...[nodes, services, workspaces, sweeps, schedules, bookings, admin, profile],
  ]),
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
