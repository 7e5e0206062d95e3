// A walk through the portal beside a scheduler on a real API server. Run by
// tests/portal/test_cluster_walk.py, which does what a line of the output asks for, and answers with a line:
//   PORTAL_LINK  a link into the portal      CHROMIUM  path of the browser
//   OUT          folder of screenshots, or empty
import { createInterface } from "node:readline";
import { walked } from "./browser.mjs";

const LINK = new URL(process.env.PORTAL_LINK);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Have something done in the cluster. */
async function act(what) {
  console.log(`act ${what}`);
  const { value } = await answers.next();
  if (value !== "done") throw new Error(`${what}: ${value}`);
}

await walked(LINK.origin, async ({ page, path, see, looked, step, check }) => {
  // Sooner than pages read again what schedulers may have said without an event.
  const soon = (text) => page.getByText(text).first().waitFor({ timeout: 30_000 });
  const row = (name) => page.locator('[role="row"]', { hasText: name }).last();
  let late = "";

  await step("the link opens the portal of a server that has no nodes of its own", async () => {
    await page.goto(LINK.href);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await see("Live");
    await see("0 of 12"); // GPUs of the cluster
    await looked("cluster-overview");
  });

  await step("what waits in the cluster has its reason, and leads to its page", async () => {
    await path("/queue");
    await row("late").getByText(/GPU/).first().waitFor();
    await row("late").click();
    await page.waitForURL(/job=/);
    await looked("cluster-queue");
    await row("late").getByRole("link").first().click();
    await page.waitForURL(/\/workloads\/east/);
    late = new URL(page.url()).pathname;
    await see("queued");
    await looked("cluster-waiting");
  });

  await step("what runs has its place, and every page knows it", async () => {
    await path("/workloads/train");
    await see("node-");
    await looked("cluster-running");
    for (const [to, name, text] of [
      ["/workloads/train?tab=placement", "cluster-placement", "node-"],
      ["/workloads/train?tab=spec", "cluster-specification", "east"],
      ["/workloads/train?tab=logs", "cluster-logs", "ganglion logs train"],
      ["/fleet?node=east:node-0", "cluster-fleet", "kubectl cordon node-0"],
      ["/fleet?view=list", "cluster-fleet-list", "east:node-0"],
      ["/nodes?at=east:node-0", "cluster-nodes", "kubectl cordon node-0"],
      ["/timeline?view=list", "cluster-timeline", "east:train"],
      ["/queues", "cluster-queues", "east:default"],
      ["/usage?by=workload", "cluster-usage", "train"],
      ["/audit", "cluster-audit", "east"],
    ]) {
      await path(to);
      await see(text, { exact: false });
      await looked(name);
    }
  });

  await step("a page follows what happens in the cluster without a reload", async () => {
    await path(late);
    await see("queued");
    await act("end train");
    await soon("running");
    await path("/workloads/stretch");
    await see("running");
    check(!(await page.getByText("grew", { exact: true }).count()), "it has its first size");
    await act("end late");
    await soon("grew");
    await see("8 of 8"); // what it holds of what it asks for
    await looked("cluster-elastic");
    await path("/workloads/train");
    await see("succeeded");
    await looked("cluster-ended");
  });

  await step("a scheduler that has ended is said", async () => {
    await path("/nodes");
    await see("east:node-0");
    await act("end the scheduler");
    await see("The scheduler of cluster east has been silent since");
    await looked("cluster-silent");
  });
});
// A process that can be written to does not end.
process.stdin.destroy();
