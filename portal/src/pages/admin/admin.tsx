/** Who may do what, what GPU-hours cost, and the policy. */
import { getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy, type ReactNode } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { Loading } from "../../ui/parts";
import type { ListSearch } from "../../ui/listing";

const Users = lazy(() => import("./users"));
const Roles = lazy(() => import("./roles"));
const Tokens = lazy(() => import("./tokens"));
const Sessions = lazy(() => import("./sessions"));
const Prices = lazy(() => import("./prices"));
const Policy = lazy(() => import("./policy"));

const route = getRouteApi("/admin");
type TabName = "users" | "roles" | "tokens" | "sessions" | "prices" | "policy";

export interface TabProps {
  search: ListSearch & { version?: number | undefined };
  set(more: ListSearch & { version?: number | undefined }): void;
}

const TABS: readonly { id: TabName; title: string; panel(props: TabProps): ReactNode }[] = [
  { id: "users", title: "Users", panel: (props) => <Users {...props} /> },
  { id: "roles", title: "Roles and groups", panel: (props) => <Roles {...props} /> },
  { id: "tokens", title: "Tokens", panel: (props) => <Tokens {...props} /> },
  { id: "sessions", title: "Sessions", panel: (props) => <Sessions {...props} /> },
  { id: "prices", title: "Prices", panel: (props) => <Prices {...props} /> },
  { id: "policy", title: "Policy", panel: (props) => <Policy {...props} /> },
];

export function AdminPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const set: TabProps["set"] = (more) => void go({ search: (was) => ({ ...was, ...more }), replace: true });
  return (
    <>
      <h1>Admin</h1>
      <Tabs
        selectedKey={search.tab ?? "users"}
        onSelectionChange={(key) => void go({ search: { tab: key as TabName } })}
      >
        <TabList aria-label="What is administered" className="tabs">
          {TABS.map((each) => (
            <Tab key={each.id} id={each.id}>
              {each.title}
            </Tab>
          ))}
        </TabList>
        {TABS.map((each) => (
          <TabPanel key={each.id} id={each.id} className="panel">
            <Suspense fallback={<Loading what={each.title.toLowerCase()} />}>{each.panel({ search, set })}</Suspense>
          </TabPanel>
        ))}
      </Tabs>
    </>
  );
}
