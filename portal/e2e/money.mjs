// Pages about money, the past and what is planned: a part of the walk.

export async function money({ page, path, see, looked, step, check, ganglion, blocker, job }) {
  await step("usage is metered, gets prices while it is looked at, and is saved as CSV", async () => {
    await path("/usage?by=workload");
    await see(blocker);
    await see("no prices");
    ganglion("price", "set", "H100", "2.50", "--currency", "EUR");
    await see("Cost EUR");
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).first().click(),
    ]);
    check(saved.suggestedFilename() === "usage-by-workload.csv", "the table is saved");
    await looked("usage");
  });

  await step("a budget is set, and the page shows how it stands", async () => {
    await path("/budgets");
    await see("No queue has a budget");
    await page.getByRole("button", { name: "Choose a queue to give it one" }).click();
    await page.getByRole("link", { name: "default" }).click();
    await page.getByLabel("Limit of a month").fill("5000");
    await see("ganglion budget set default 5000");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await see("Saved.");
    await see("within");
    check(ganglion("budget", "show", "default").includes("5000"), "the command line knows the budget");
    await looked("budgets");
  });

  await step("the audit trail has it, and verifies", async () => {
    await path("/audit?kind=budget_set");
    await page.locator('[role="row"]', { hasText: "budget set" }).last().click();
    await page.waitForURL(/event=/);
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await see("Sound");
    await looked("audit");
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export all of it" }).click(),
    ]);
    check(saved.suggestedFilename() === "audit.jsonl", "all of it is exported");
  });

  await step("the timeline is moved and zoomed by keys, and the list says the same", async () => {
    await path("/timeline");
    await page.locator(".gantt").focus();
    await page.keyboard.press("+");
    await page.waitForURL(/zoom=2/);
    await page.keyboard.press("ArrowLeft");
    await page.waitForURL(/at=\d/);
    await page.getByRole("button", { name: "Now" }).click();
    await looked("timeline");
    await page.getByRole("button", { name: "List" }).click();
    await see(blocker);
    await looked("timeline-list");
  });

  await step("a question about the past is asked, and its answer has an address", async () => {
    await path("/what-if");
    await page.getByLabel("Nodes").fill("+1xH100:8");
    await see("ganglion whatif --nodes +1xH100:8");
    await looked("what-if");
    await page.getByRole("button", { name: "Ask" }).click();
    await page.waitForURL(/\/what-if\/wi-/);
    await see("What the replays do not know");
    await see("nodes +1xH100:8");
    await looked("what-if-answer");
  });

  await step("a suggestion is applied by a click, and the job starts", async () => {
    await path(`/workloads/${job}?tab=why`);
    await page.getByRole("listitem").filter({ hasText: "raise its priority" }).getByRole("button", { name: "Apply" }).click();
    await see(`ganglion update ${job} --priority 51`);
    await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
    await see("running");
    await page.getByRole("tab", { name: "Use" }).click();
    await see("Processes");
    await looked("workload-use");
  });
}
