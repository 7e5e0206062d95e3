// The part of the walk that is about a new home.

export async function setUp({ page, path, see, looked, step, check, ganglion }) {
  await step("a new home says what its first steps are, adds queues for teams, and says it once", async () => {
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    await see("8 H100 GPUs");
    await looked("first-steps");
    await page.getByLabel("People on other machines").check();
    await page.getByLabel("Names of teams").fill("vision NLP");
    await see("ganglion queues set vision --quota H100:4", { exact: false });
    await page.getByRole("button", { name: "Add 2 queues" }).click();
    await see("is not a usable name", { exact: false });
    await looked("first-steps-teams");
    await page.getByLabel("Names of teams").fill("nlp");
    await page.getByRole("button", { name: "Add a queue" }).click();
    await page.getByRole("link", { name: "nlp" }).waitFor();
    const made = JSON.parse(ganglion("queues", "-o", "json")).filter((each) => each.document.quota?.H100 === 4);
    check(made.map((each) => each.name).join() === "nlp,vision", "each team has half of the GPUs");
    ganglion("queues", "delete", "nlp");
    ganglion("queues", "delete", "vision");
    await page.getByRole("link", { name: "Training", exact: true }).click();
    await page.waitForURL(/\/submit\?template=train/);
    await path("/");
    await see("Nothing of yours yet");
    check(!(await page.getByRole("heading", { name: "First steps" }).count()), "they do not come again");
    await looked("overview-empty");
  });
}
