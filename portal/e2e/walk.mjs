// A walk through the portal in a real browser, against a real server. Run by
// tests/portal/test_walk.py, which starts the server and says in the environment where things are:
//   PORTAL_LINK  the link that `ganglion up` printed      CHROMIUM  path of the browser
//   GANGLION     how the command line is called, as JSON  OUT       folder of screenshots, or empty
import { execFileSync } from "node:child_process";
import { walked } from "./browser.mjs";
import { screens } from "./screens.mjs";
import { setUp } from "./setup.mjs";
import { money } from "./money.mjs";
import { changedQueues } from "./queues.mjs";

const LINK = new URL(process.env.PORTAL_LINK);
const [PROGRAM, ...ARGUMENTS] = JSON.parse(process.env.GANGLION);
const OUT = process.env.OUT ?? "";

const ganglion = (...given) => execFileSync(PROGRAM, [...ARGUMENTS, ...given], { encoding: "utf8" });

await walked(LINK.origin, async ({ browser, context, page, see, path, looked, accessible, pictures, step, check }) => {
  await step("a stranger sees a page without data", async () => {
    const other = await (await browser.newContext()).newPage();
    await other.goto(`${LINK.origin}/queue`);
    await other.getByText("This portal opens with a link").waitFor();
    for (const each of ["/api/v1/order", "/api/v1/whoami", "/api/v1/workloads", "/api/v1/events"])
      check((await other.request.get(LINK.origin + each)).status() === 401, `${each} needs a session`);
    await other.context().close();
  });

  await step("the printed link opens the overview, once", async () => {
    await page.goto(LINK.href);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    check(!page.url().includes("code="), "the code is not in the address any more");
    const [cookie] = await context.cookies();
    check(cookie?.httpOnly && cookie.sameSite === "Strict", "the cookie is out of reach");
    const other = await (await browser.newContext()).newPage();
    await other.goto(LINK.href);
    await other.getByText("This link does not count", { exact: false }).or(other.getByText("this link does not count", { exact: false })).first().waitFor();
    await other.context().close();
    await see("Live");
  });

  await setUp({ page, path, see, looked, step, check, ganglion });

  await step("nothing waits", async () => {
    await path("/queue");
    await see("Nothing waits");
    await looked("queue-empty");
  });

  /** Press Tab until what has the focus is wanted; none that has it on the way is out of sight. */
  const tabbed = async (wanted) => {
    for (let n = 0; n < 60; n += 1) {
      await page.keyboard.press("Tab");
      const hidden = await page.evaluate(() => {
        const box = document.activeElement?.getBoundingClientRect();
        const middle = box && document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return !middle || !(document.activeElement.contains(middle) || middle.contains(document.activeElement));
      });
      check(!hidden, `the focus is seen: ${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))}`);
      if (await page.evaluate(wanted)) return;
    }
    throw new Error(`the keyboard does not reach ${wanted}`);
  };

  let blocker = "";
  await step("a job that takes everything is submitted by the keyboard alone", async () => {
    await path("/submit");
    const editor = page.getByLabel("Workload file (YAML)");
    await editor.focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("name: blocker\nrun: sleep 600\nresources: {gpus: 8}\ntime_limit: 1h\n");
    await see("Starts at once");
    await tabbed(() => document.activeElement?.textContent === "Submit" && document.activeElement.tagName === "BUTTON");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/workloads\/blocker-/);
    blocker = page.url().split("/").pop().split("?")[0];
    await see("running");
  });

  let job = "";
  await step("a template is tried, and submitted although it waits", async () => {
    await path("/submit");
    await page.getByRole("link", { name: "Training", exact: true }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("learn");
    await page.getByText(/^Waits/).first().waitFor();
    await looked("submit");
    await page.getByText("what is written now is being tried").waitFor({ state: "detached" });
    const sent = page.waitForRequest((each) => each.method() === "POST" && /\/workloads\?.*if_plan=/.test(each.url()));
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await sent; // only the plan that was shown
    await page.waitForURL(/\/workloads\/learn-/);
    job = page.url().split("/").pop().split("?")[0];
    await see("capacity");
    await see(`ganglion why ${job}`, { exact: false });
    await looked("workload-waiting");
  });

  await step("others wait behind it: names that act do no harm", async () => {
    const file = {
      name: "hostile",
      run: "printf '<img src=x onerror=alert(1)>\\033[31mred\\033[0m \\u202ereversed\\n'; sleep 1",
      env: { HOSTILE: `<script>alert(1)</script>\u202e${"x".repeat(10_000)}` },
      resources: { gpus: 8 },
      time_limit: "1h",
    };
    const status = await page.evaluate(async (body) => {
      const me = await (await fetch("/api/v1/whoami")).json();
      const answer = await fetch("/api/v1/workloads", {
        method: "POST",
        headers: { "X-CSRF-Token": me.csrf, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      return answer.status;
    }, file);
    check(status === 201, `the hostile job is taken: ${status}`);
    await path("/queue?text=%3Cscript%3Ealert(1)%3C/script%3E");
    await see("0 rows");
    await path("/workloads/hostile?tab=spec");
    await see("HOSTILE");
    await looked("workload-hostile");
  });

  await step("the queue tells why, and follows without a reload", async () => {
    await path("/queue");
    await see(job);
    // What blocks has a time limit, so that it is known when what waits behind it starts.
    await page.locator('[role="gridcell"]:not(.under) [title*="not a reservation"]').first().waitFor();
    await page.locator('[role="row"]', { hasText: job }).last().click();
    await page.waitForURL(/job=/);
    await see("What would start it").catch(() => see("When it starts"));
    await looked("queue");
    ganglion("cancel", "hostile");
    await page.waitForFunction(() => !document.body.textContent.includes("hostile"));
  });

  await step("why it waits is learned by the keyboard alone", async () => {
    await path("/queue");
    await page.locator('[role="row"]', { hasText: job }).last().waitFor();
    await tabbed(() => document.activeElement?.getAttribute("role") === "row");
    await page.keyboard.press("Enter");
    await page.waitForURL(/job=/);
    await see("What would start it");
    await tabbed(() => document.activeElement?.textContent === "Apply");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    check(await page.evaluate(() => document.activeElement?.textContent === "Apply"), "the focus is where it was");
  });

  await step("the fleet shows who holds it", async () => {
    await path("/fleet?node=node-0");
    await see(blocker);
    await looked("fleet");
    await path("/fleet?view=list&color=health");
    await looked("fleet-list");
    await path("/queues?queue=default");
    await see("guaranteed none", { exact: false });
    await looked("queues");
  });

  await changedQueues({ page, path, see, looked, accessible, pictures, step, check, ganglion });

  await money({ page, path, see, looked, step, check, ganglion, blocker, job });

  await step("the blocker is cancelled by the keyboard, the job starts, its log runs", async () => {
    await path(`/workloads/${blocker}`);
    await page.getByRole("button", { name: "Cancel", exact: true }).focus();
    await page.keyboard.press("Enter");
    await see(`ganglion cancel ${blocker}`);
    await accessible("the question");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await see("cancelled");
    await path(`/workloads/${job}?tab=logs`);
    await page.locator(".log-line", { hasText: "step 1 " }).first().waitFor();
    await page.locator(".log-line", { hasText: "step 3 " }).first().waitFor();
    await looked("workload-logs");
    await path(`/workloads/${job}?tab=placement`);
    await see("held by pod 0", { exact: false }).catch(() => page.locator(".devices .mine").first().waitFor());
    await looked("workload-placement");
    if (OUT) {
      await path(`/workloads/${job}?tab=use`);
      await page.locator(".curve").first().waitFor();
      await looked("workload-curves");
    }
    await path("/");
    await see(job);
    await looked("overview");
  });

  await step("the palette goes places", async () => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("fleet");
    await accessible("the palette");
    await pictures("palette");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/fleet/);
  });

  await screens({ page, path, see, looked, accessible, step, check, ganglion, pictures, tabbed });

  await step("a clock that is off is said, and times are those of the server", async () => {
    const elsewhere = await browser.newContext({ storageState: await context.storageState() });
    const off = await elsewhere.newPage();
    await off.clock.setSystemTime(Date.now() - 3 * 86_400_000);
    await off.goto(`${LINK.origin}/workloads/${job}`);
    await off.getByRole("status").getByText("behind that of the server; times are those of the server").waitFor();
    await off.locator(".tabs, [role=tablist]").first().waitFor();
    const told = await off.locator("main").innerText();
    check(!/\b\d+ d\b/.test(told), `no time is days away: ${/.{0,80}\b\d+ d\b.{0,40}/.exec(told)}`);
    await accessible("a clock that is off", off);
    await elsewhere.close();
  });

  await step("a server that goes is said, what was there stays, and it comes back by itself", async () => {
    await path("/");
    await see(job);
    await see("Live");
    ganglion("down");
    await see("The server does not answer.");
    await see(job);
    await pictures("gone");
    ganglion("up", ...JSON.parse(process.env.UP));
    await page.getByText("The server does not answer.").waitFor({ state: "detached", timeout: 30_000 });
    await see("Live");
  });

  await step("an old page against another build says so", async () => {
    await page.route("**/portal.json", (route) =>
      route.fulfill({ json: { build: "another", version: "9", sign_in: "link" } }),
    );
    ganglion("down");
    await see("The server does not answer.");
    ganglion("up", ...JSON.parse(process.env.UP));
    await page.getByText("The server is another version than this page.").waitFor({ timeout: 30_000 });
    await page.locator(".live", { hasText: "Old page" }).waitFor();
    await page.unroute("**/portal.json");
  });

  await step("a session that ends asks for a link, and keeps what was written", async () => {
    await path("/submit");
    await page.getByLabel("Workload file (YAML)").fill("name: kept\nrun: 'true'\n");
    await context.clearCookies();
    await page.reload();
    await see("This portal opens with a link");
    await page.getByLabel("Paste the link here, or open it").fill(ganglion("portal").trim());
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByLabel("Workload file (YAML)").waitFor();
    check((await page.getByLabel("Workload file (YAML)").inputValue()).includes("name: kept"), "it is kept");
    await page.locator(".menu summary").click();
    await accessible("the menu");
    await pictures("menu");
    await page.getByRole("button", { name: "Sign out" }).click();
    await see("This portal opens with a link");
    await looked("door");
  });
});
