// The part of the walk that is about changing queues.

const HOSTILE = `<img src=x onerror=alert(1)>\u202e`;

export async function changedQueues({ page, path, see, looked, accessible, pictures, step, check, ganglion }) {
  const button = (name) => page.getByRole("button", { name, exact: true });
  const link = (name) => page.getByRole("link", { name, exact: true });
  const rules = (name) => JSON.parse(ganglion("queues", "-o", "json")).find((each) => each.name === name)?.document;
  const yours = page.getByRole("region", { name: "Changes of yours" });

  await step("a queue is added after what it changes was said, and taken along to the past", async () => {
    await path("/queues");
    await link("Add a queue").click();
    await page.getByLabel("Name", { exact: true }).fill(HOSTILE);
    await page.getByRole("alert").waitFor();
    check(await button("Save").isDisabled(), "a queue with a name that acts is not saved");
    check((await page.getByLabel("Name", { exact: true }).getAttribute("aria-invalid")) === "true", "the field says so");
    await pictures("queue-wrong");
    await page.getByLabel("Name", { exact: true }).fill("research");
    await page.getByLabel(/^Quota of H100/).fill("6");
    await yours.waitFor();
    await see("ganglion queues set research --quota H100:6");
    await looked("queue-new");
    await link("Try it on the past").click();
    await page.waitForURL(/what-if/);
    const asked = await page.getByLabel("Policy file (YAML)").inputValue();
    check(asked.includes("name: research"), "the question has the policy with the new queue");
    await page.getByRole("button", { name: "Clear" }).click();
    await path("/queues?edit=new");
    await yours.waitFor(); // the draft is kept
    await button("Save").click();
    await see("was added.");
    check(rules("research").quota.H100 === 6, "the queue is there");
  });

  await step("of two who change a queue the second is shown the difference, and what is saved is undone", async () => {
    await path("/queues?queue=research");
    await link("Change").click();
    await page.getByLabel("Weight beyond quotas").fill("3");
    await yours.waitFor();
    ganglion("queues", "set", "research", "--limit", "H100:7");
    await see("The queue was changed since you began to write");
    await accessible("the difference of a queue");
    await pictures("queue-overtaken");
    await button("Go on with mine, on top of theirs").click();
    check((await page.getByLabel(/^Limit of H100/).inputValue()) === "7", "what the other changed is kept");
    await page.getByLabel(/^Limit of H100/).fill("many");
    await page.locator("td input[aria-invalid=true]").waitFor();
    await page.getByLabel(/^Limit of H100/).fill("8");
    await yours.waitFor();
    await button("Save").click();
    await see("was changed.");
    check(rules("research").limit.H100 === 8 && rules("research").weight === 3, "it is saved");
    await looked("queue-saved");
    await button("Undo").click();
    await see("Taken back:", { exact: false });
    const back = rules("research");
    check(back.limit.H100 === 7 && back.weight === undefined, `it is as before: ${JSON.stringify(back)}`);
  });

  await step("a queue is removed, comes back, and goes", async () => {
    await path("/queues?queue=research");
    await button("Remove").click();
    await see("ganglion queues delete research");
    await accessible("the question whether a queue goes");
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await see("was removed.");
    check(rules("research") === undefined, "it is gone");
    await button("Undo").click();
    await see("Taken back:", { exact: false });
    check(rules("research").limit.H100 === 7, "it is there again");
    ganglion("queues", "delete", "research");
  });
}
