/** That services and workspaces have no address, and why. */
import { useQuery } from "@tanstack/react-query";
import { checks } from "../api/reads";
import type { Health, WorkloadView } from "../api/schema";
import { Command } from "./parts";
import { harmless } from "./text";

/** Why the router leads nowhere; empty = it does, or it is not known. */
export function routerTrouble(health: Health | undefined): string {
  const found = health?.checks.find((each) => each.name === "router");
  return found && found.status !== "ok" ? found.message || "the router does not work" : "";
}

/** Why work that runs cannot be opened; empty = it can, or does not run. */
export function noAddress(job: Pick<WorkloadView, "state"> & { url: string }, trouble: string): string {
  if (job.url || job.state !== "RUNNING") return "";
  return trouble ? `It runs, but has no address: ${trouble}.` : "It runs, but has no address yet.";
}

/** For the page of a kind of work that is opened through the router. */
export function Unreached() {
  const trouble = routerTrouble(useQuery(checks).data);
  if (!trouble) return null;
  return (
    <div className="notice warn" role="status">
      <strong>Services and workspaces have no address.</strong> They start and run, and cannot be opened:{" "}
      {harmless(trouble, 500)}. They get one by themselves once that is over. With another port:
      <Command line="ganglion down && ganglion up --services-port PORT" label="Start the server with another port of services" />
    </div>
  );
}

/** In place of *Open*. */
export function NoAddress({ job }: { job: Pick<WorkloadView, "state"> & { url: string } }) {
  const said = noAddress(job, routerTrouble(useQuery(checks).data));
  return said ? <p className="notice warn">{harmless(said, 600)}</p> : null;
}
