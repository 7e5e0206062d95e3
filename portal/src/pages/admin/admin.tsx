/** Who may do what, what GPU-hours cost, and the policy. */
import { getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy, type ReactNode } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { useVisitor } from "../../entrance";
import { holds, may } from "../../ui/may";
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

const TABS: readonly { id: TabName; title: string; needs?: "users" | "view"; panel(props: TabProps): ReactNode }[] = [
  { id: "users", title: "Users", needs: "users", panel: (props) => <Users {...props} /> },
  { id: "roles", title: "Roles and groups", panel: (props) => <Roles {...props} /> },
  { id: "tokens", title: "Tokens", panel: (props) => <Tokens {...props} /> },
  { id: "sessions", title: "Sessions", panel: (props) => <Sessions {...props} /> },
  { id: "prices", title: "Prices", panel: (props) => <Prices {...props} /> },
  { id: "policy", title: "Policy", needs: "view", panel: (props) => <Policy {...props} /> },
];

export function AdminPage() {
  const search = route.useSearch();
  const go = route.useNavigate();
  const { me } = useVisitor();
  const audits = holds(me, "maintainer", "owner", "auditor", "admin");
  const tabs = TABS.filter((each) => (!each.needs || may(me, each.needs)) && (audits || each.id !== "roles"));
  const chosen = tabs.find((each) => each.id === search.tab) ?? tabs[0];
  const set: TabProps["set"] = (more) => void go({ search: (was) => ({ ...was, ...more }), replace: true });
  return (
    <>
      <h1>Admin</h1>
      <Tabs
        selectedKey={chosen?.id ?? "tokens"}
        onSelectionChange={(key) => void go({ search: { tab: key as TabName } })}
      >
        <TabList aria-label="What is administered" className="tabs">
          {tabs.map((each) => (
            <Tab key={each.id} id={each.id}>
              {each.title}
            </Tab>
          ))}
        </TabList>
        {tabs.map((each) => (
          <TabPanel key={each.id} id={each.id} className="panel">
            <Suspense fallback={<Loading what={each.title.toLowerCase()} />}>{each.panel({ search, set })}</Suspense>
          </TabPanel>
        ))}
      </Tabs>
    </>
  );
}
