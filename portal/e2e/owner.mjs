// An owner of a part of the tree of queues signs in at a real provider, and has that part. Run by
// tests/portal/test_sign_in.py:   SITE  address of the server    CHROMIUM  path of the browser
//   PROMOTE  command that makes the owner an admin of the same part
import { execFileSync } from "node:child_process";
import { chromium } from "playwright-core";

const SITE = process.env.SITE;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
page.setDefaultTimeout(30_000);
const troubles = [];
page.on("pageerror", (error) => troubles.push(String(error)));

const see = (text) => page.getByText(text).first().waitFor();
const button = (name) => page.getByRole("button", { name, exact: true });
const dialog = page.getByRole("dialog");
const open = async (path, heading) => {
  await page.goto(SITE + path);
  await page.getByRole("heading", { name: heading, level: 1, exact: true }).waitFor();
  await page.waitForFunction(() => !document.querySelector(".loading"));
};
const said = () => page.locator("main").innerText();

function check(holds, what) {
  if (!holds) throw new Error(`it does not hold: ${what}`);
}

/** What the API answers to the session of the page. */
const api = (method, path, body) =>
  page.evaluate(
    async ([method, path, body]) => {
      const { csrf } = await (await fetch("/api/v1/whoami")).json();
      const headers = { "X-CSRF-Token": csrf, "Content-Type": "application/json" };
      return (await fetch(`/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })).status;
    },
    [method, path, body],
  );

try {
  await page.goto(`${SITE}/queues`);
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();

  // Every page shows its own part, and none fails for what lies elsewhere.
  await page.getByRole("link", { name: "red-a", exact: true }).waitFor();
  check(!(await said()).includes("blue"), "queues of others are not named");
  for (const [path, heading] of [
    ["/", "Overview"],
    ["/queue", "Queue"],
    ["/usage", "Usage and cost"],
    ["/budgets", "Budgets"],
    ["/admin", "Admin"],
    ["/profile", "Profile"],
  ]) {
    await open(path, heading);
    const text = await said();
    check(!/blue|theirs|east|west/.test(text), `${heading} names nothing of others: ${text}`);
    check(!(await page.locator("main .notice.bad").count()), `${heading} shows no failure: ${text}`);
  }
  await open("/queue", "Queue");
  await page.getByRole("gridcell", { name: "ours-" }).first().waitFor();

  // A queue of the part is changed after what it would change was said; the draft outlasts another page.
  await open("/queues?queue=red", "Queues");
  check(!(await page.getByRole("link", { name: "Change", exact: true }).count()), "the top of the part is changed from above it");
  await open("/queues?queue=red-a", "Queues");
  await page.getByRole("link", { name: "Change", exact: true }).click();
  await page.getByLabel("Weight beyond quotas").fill("3");
  await page.getByRole("region", { name: "Changes of yours" }).waitFor();
  await page.getByLabel(/^Quota of H100/).fill("400");
  await page.locator("[aria-invalid=true]").first().waitFor(); // more than the part is guaranteed
  check(await button("Save").isDisabled(), "that is not saved");
  await page.getByLabel(/^Quota of H100/).fill("2");
  await page.getByRole("region", { name: "Changes of yours" }).getByText("quota").first().waitFor();
  await open("/what-if", "What if");
  await open("/queues?queue=red-a&edit=rules", "Change red-a");
  await page.getByRole("region", { name: "Changes of yours" }).waitFor(); // the draft is kept

  // It is tried on the past first: with all work, whose sums alone are shown of others.
  await page.getByRole("link", { name: "Try it on the past" }).click();
  await page.getByRole("heading", { name: "What if", level: 1 }).waitFor();
  check((await page.getByLabel("All rules of queues (YAML)").inputValue()).includes("red-a:"), "the rules are taken along");
  check(!(await page.getByLabel("Policy file (YAML)").count()), "what is of the whole fleet is not offered");
  await button("Ask").click();
  await page.getByRole("heading", { name: /queue red-a: / }).waitFor();
  await page.getByRole("rowheader", { name: "work of others" }).first().waitFor();
  check(!/blue|theirs|east|west/.test(await said()), `the answer names nothing of others: ${await said()}`);
  for (const wish of [{ queues: ["blue=weight:2"] }, { queues: ["red=weight:2"] }, { nodes: ["+1xH100"] }]) {
    const status = await api("POST", "/whatif", wish);
    check(status === 403, `${JSON.stringify(wish)} is refused, not ${status}`);
  }
  await open("/queues?queue=red-a&edit=rules", "Change red-a");
  await button("Save").click();
  await see("was changed.");

  // Of others it neither sees nor changes a queue.
  await page.goto(`${SITE}/queues?queue=blue&edit=rules`);
  await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
  check(!(await page.getByLabel("Weight beyond quotas").count()), "queues of others are not edited");
  for (const [method, path, body] of [
    ["PUT", "/queues/blue", { name: "blue", parent: "org" }],
    ["DELETE", "/queues/blue"],
    ["PUT", "/queues/red", { name: "red", parent: "org" }],
    ["POST", "/roles:grant", { subject: "user:zoe", role: "viewer", queue: "blue" }],
    ["PUT", "/budgets/red", { micro: 1 }],
  ]) {
    const status = await api(method, path, body);
    check([403, 404, 422].includes(status), `${method} ${path} is refused, not ${status}`);
  }

  // A role is granted in the part, and nowhere else.
  await open("/admin", "Admin");
  await page.getByRole("tab", { name: "Roles and groups" }).click();
  await button("Grant a role").click();
  check((await dialog.getByLabel("On queue").inputValue()) === "red", "the queue is the one of the part");
  await dialog.getByLabel("User, or group:NAME").fill("zoe@example.org");
  await dialog.getByLabel("Role").selectOption("submitter");
  await dialog.getByLabel("On queue").fill("blue");
  await dialog.getByRole("button", { name: "Grant a role" }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("On queue").fill("red-a");
  await dialog.getByRole("button", { name: "Grant a role" }).click();
  await page.getByRole("gridcell", { name: "zoe@example.org" }).waitFor();

  // Money of the part is for its admins.
  await open("/budgets", "Budgets");
  await see("more nodes for the paper");
  check(!(await button("Approve").count()), "an owner is not offered to approve");
  const [program, ...given] = JSON.parse(process.env.PROMOTE);
  execFileSync(program, given);
  await open("/budgets", "Budgets");
  await button("Approve").click();
  await dialog.getByLabel("Why, for the one who asked").fill("it is due in May");
  await dialog.getByRole("button", { name: "Approve" }).click();
  await see("approved");
  await see("it is due in May");
  if (troubles.length) throw new Error(troubles.join("\n"));
  console.log("the part is its owner's");
} catch (error) {
  console.error(String(error?.stack ?? error), page.url(), await said().catch(() => ""));
  process.exitCode = 1;
} finally {
  await browser.close();
}
