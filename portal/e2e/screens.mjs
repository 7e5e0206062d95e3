// The part of the walk that is about kinds of work, nodes, bookings, and administration.

/** Submit a workload file as the page would. */
async function submit(page, body) {
  const [status, answer] = await page.evaluate(async (file) => {
    const me = await (await fetch("/api/v1/whoami")).json();
    const response = await fetch("/api/v1/workloads", {
      method: "POST",
      headers: { "X-CSRF-Token": me.csrf, "Content-Type": "application/json" },
      body: JSON.stringify(file),
    });
    return [response.status, await response.json()];
  }, body);
  if (status !== 201) throw new Error(`${body.name} is not taken: ${status} ${JSON.stringify(answer)}`);
  return answer.id;
}

const HOSTILE = `<img src=x onerror=alert(1)>\u202e${"x".repeat(300)}`;

export async function screens({ page, path, see, looked, accessible, step, check, ganglion, pictures, tabbed }) {
  // Below those that systems give to whatever connects.
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  const button = (name) => page.getByRole("button", { name, exact: true });
  const confirm = (name) => page.getByRole("dialog").getByRole("button", { name, exact: true });
  const field = (name) => page.getByRole("dialog").getByLabel(name, { exact: true });

  await step("lists that are empty say what to do next", async () => {
    for (const [to, text] of [
      ["/services", "No service runs or waits"],
      ["/workspaces", "No workspace yet"],
      ["/sweeps", "No sweep yet"],
      ["/schedules", "Nothing is scheduled"],
      ["/bookings", "Nothing is booked"],
    ]) {
      await path(to);
      await see(text);
    }
    await pictures("bookings-empty");
  });

  const cpus = { resources: { cpus: 0.1 } };
  await step("a service, a workspace, a sweep and a schedule are seen on pages of their own", async () => {
    const serve = `exec ${JSON.parse(process.env.GANGLION)[0]} -m http.server --bind 127.0.0.1 $GANGLION_PORT`;
    const service = await submit(page, { name: "answer", kind: "service", run: serve, port, replicas: 1, labels: { model: "small-7b", note: HOSTILE }, ...cpus });
    const desk = await submit(page, { name: "desk", kind: "workspace", run: serve, port: port + 1, idle_timeout: "1h", ...cpus });
    const report = `echo "{\\"metrics\\": {\\"step\\": 1, \\"loss\\": 0.{x}}}" >> $GANGLION_REPORT_FILE; sleep 2`;
    const sweep = await submit(page, { name: "search", kind: "sweep", run: report, params: { x: [4, 2, 3] }, early_stop: { metric: "loss" }, time_limit: "1h", ...cpus });
    await submit(page, { name: "nightly", kind: "batch", run: "true", schedule: { cron: "0 2 * * *" }, time_limit: "1h", ...cpus });
    await path(`/services?at=${service}`);
    await see("small-7b");
    await see("1 of 1");
    await looked("services");
    await path(`/workspaces?at=${desk}`);
    await button("Open").waitFor();
    await see("suspended after 1h");
    const [tab] = await Promise.all([page.context().waitForEvent("page"), button("Open").click()]);
    await tab.waitForURL((url) => url.pathname.startsWith("/desk"));
    await tab.close();
    await looked("workspaces");
    await button("Suspend").click();
    await see(`ganglion suspend ${desk} --yes`);
    await accessible("the question what is lost");
    await confirm("Suspend").click();
    await button("Resume").waitFor();
    await path(`/sweeps?at=${sweep}`);
    await see("Best so far: loss 0.2");
    await looked("sweeps");
    await path("/schedules?at=nightly");
    await see("0 2 * * *");
    await looked("schedules");
  });

  await step("a node is drained after a preview, and opened again", async () => {
    await path("/nodes?at=node-0");
    await button("Drain").waitFor();
    await tabbed(() => document.activeElement?.textContent === "Drain");
    await page.keyboard.press("Enter");
    await see("would have to leave");
    await field("Why").fill(HOSTILE.slice(0, 60));
    await accessible("the preview of a drain");
    await pictures("drain");
    await page.keyboard.press("Escape");
    await button("Cordon").click();
    await confirm("Cordon").click();
    await button("Uncordon").waitFor();
    await looked("nodes");
    await button("Uncordon").click();
    await confirm("Uncordon").click();
    await button("Cordon").waitFor();
  });

  await step("nodes are booked by a form", async () => {
    await path("/bookings");
    await button("Book nodes").click();
    await field("Name").fill("cooling");
    await field("Nodes").fill("node-0");
    await field("From").fill("2099-01-01T08:00");
    await field("Why").fill("a new pump");
    await see("ganglion booking add cooling --node node-0", { exact: false });
    await accessible("the form of a booking");
    await confirm("Book nodes").click();
    await see("a new pump");
    await path("/bookings?at=cooling");
    await see("maintenance");
    await looked("bookings");
  });

  await step("an admin adds a user with a role, a token and a price", async () => {
    await path("/admin");
    await button("Add a user").click();
    await field("Name").fill("eve");
    await field("Password").fill("nine blue trains to Ulm");
    await confirm("Add a user").click();
    await page.getByRole("gridcell", { name: "eve" }).click();
    await see("ganglion role list");
    await looked("admin-users");
    await page.getByRole("tab", { name: "Roles and groups" }).click();
    await button("Grant a role").click();
    await field("User, or group:NAME").fill("eve");
    await confirm("Grant a role").click();
    await page.getByRole("gridcell", { name: "eve" }).waitFor();
    await looked("admin-roles");
    await page.getByRole("tab", { name: "Prices" }).click();
    await button("Set a price").click();
    await field("Flavor").fill("H100");
    await field("Price in EUR").fill("3.50"); // the first price has said the currency
    await confirm("Set a price").click();
    await see("€3.50");
    await looked("admin-prices");
    for (const tab of ["tokens", "sessions"]) {
      await path(`/admin?tab=${tab}`);
      await looked(`admin-${tab}`);
    }
  });

  await step("of two who edit a policy the second is shown the difference", async () => {
    await path("/admin?tab=policy");
    const editor = page.getByLabel("Policy file (YAML)");
    await editor.fill("preemption: {share_after: 20m}\n");
    await page.getByRole("region", { name: "Changes of yours" }).first().waitFor();
    await looked("admin-policy");
    await page.evaluate(async () => {
      const me = await (await fetch("/api/v1/whoami")).json();
      await fetch("/api/v1/policy", {
        method: "PUT",
        headers: { "X-CSRF-Token": me.csrf, "Content-Type": "application/json" },
        body: JSON.stringify({ text: "preemption: {share_after: 30m}\n" }),
      });
    });
    await see("The policy was changed since you began to write");
    await accessible("the difference");
    await pictures("admin-policy-overtaken");
    check((await editor.inputValue()).includes("20m"), "what was written is kept");
    await button("Go on with mine, on top of theirs").click();
    await button("Set this policy").click();
    await confirm("Set this policy").click();
    await see("Nothing: this is what is in force.");
    await page.getByRole("gridcell", { name: "1", exact: true }).first().click();
    await button("Roll back").click();
    await confirm("Roll back").click();
    await see("rolled back to 1");
    await looked("admin-policy-history");
  });

  await step("a user makes a token of its own, which is shown once", async () => {
    await path("/profile");
    await button("New token").click();
    await field("What it is for").fill(HOSTILE.slice(0, 100));
    await confirm("New token").click();
    await see("This is shown once. Copy it now.");
    await looked("profile");
    await button("I have it").click();
    await page.getByLabel("Mail address, URL, or secret:NAME of one").fill("root@example.org\u202e");
    await page.getByRole("region", { name: "Notices" }).getByRole("button", { name: "Save" }).click();
    await page.getByRole("region", { name: "Notices" }).getByRole("alert").waitFor();
    await page.getByLabel("Mail address, URL, or secret:NAME of one").fill("root@example.org");
    await page.getByLabel("is stopped for others").check();
    await see("ganglion notify set root@example.org=failure,preemption");
    await looked("profile-notices");
    await page.getByRole("region", { name: "Notices" }).getByRole("button", { name: "Save" }).click();
    await page.waitForFunction(() => document.querySelector(".notices button[type=submit]")?.disabled);
    check(ganglion("notify", "-o", "json").includes("root@example.org"), "the command line knows the choice");
    ganglion("notify", "off");
    await page.getByLabel("Theme").selectOption("dark");
    check((await page.evaluate(() => document.documentElement.dataset.theme)) === "dark", "the theme is taken");
    await page.getByLabel("Theme").selectOption("system");
    await page.getByLabel("Times", { exact: true }).selectOption("Asia/Tokyo");
    await see("UTC+9", { exact: false });
    await page.getByLabel("Times", { exact: true }).selectOption("local");
  });

  await step("what waits is gathered, chosen by the keyboard, and held at once", async () => {
    const whole = { resources: { gpus: 8 }, time_limit: "1h" };
    await submit(page, { name: "keeper", run: "sleep 600", ...whole });
    for (const name of ["wait-one", "wait-two"]) await submit(page, { name, run: "true", ...whole });
    await path("/queue?group=user&text=wait-");
    await page.getByRole("grid", { name: "What waits, by user" }).waitFor();
    await looked("queue-groups");
    await page.getByLabel("Group by").selectOption("");
    await page.locator('[role="row"][data-row="0"]').focus();
    await page.keyboard.press("Space");
    await see("1 workload chosen");
    await page.getByRole("button", { name: /^Choose all/ }).click();
    await button("Hold").click();
    await page.getByRole("region", { name: "Which they are" }).getByRole("heading", { name: "2 workloads" }).waitFor();
    await accessible("the preview of a bulk action");
    await pictures("queue-bulk");
    await confirm("Hold").click();
    await see("Hold: done with 2 workloads.");
    await page.locator('[role="gridcell"] .badge', { hasText: "held" }).first().waitFor();
    await looked("queue-held");
    ganglion("cancel", "wait-one", "wait-two", "keeper");
  });

  await step("an elastic job starts small, grows into what is free, and its page says so", async () => {
    const four = { resources: { gpus: 4 }, time_limit: "1h" };
    await submit(page, { name: "half", run: "sleep 600", ...four });
    const elastic = await submit(page, { name: "stretch", run: "sleep 600", nodes: "1..2", ...four });
    await path(`/workloads/${elastic}`);
    await see("running");
    ganglion("cancel", "half");
    await see("grew");
    await looked("workload-elastic");
    ganglion("cancel", "stretch");
  });
}
