// A user signs in at a real provider and is back at the page that was asked for. Run by
// tests/portal/test_sign_in.py:   SITE  address of the server    CHROMIUM  path of the browser
import { chromium } from "playwright-core";

const SITE = process.env.SITE;
const WANTED = "/nodes?text=n1&at=n1";
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
try {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(60_000);
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  await page.goto(SITE + WANTED);
  await page.getByText("Sign in to see this fleet.").waitFor();
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Nodes" }).waitFor();
  const at = new URL(page.url());
  if (at.origin !== SITE || at.pathname + at.search !== WANTED) throw new Error(`it came back to ${at}`);
  await page.getByRole("gridcell", { name: "n1", exact: true }).waitFor();
  const drain = await page.getByRole("button", { name: "Drain" }).count();
  if (drain) throw new Error("a viewer is offered to drain");
  if (await page.getByRole("link", { name: "Admin" }).count()) throw new Error("a viewer is led to Admin");
  // What waits in clusters is there in the order of their schedulers, and what is old says so.
  await page.goto(`${SITE}/queue?queue=east:org`);
  const row = page.getByRole("row").filter({ hasText: "east:second" });
  await row.getByText("6 of 6 GPUs are taken").waitFor();
  if ((await row.getByRole("gridcell").nth(1).innerText()).trim() !== "1") throw new Error(await row.innerText());
  if (!(await row.getByRole("checkbox").isDisabled())) throw new Error("work of a cluster is offered to be changed");
  await page.getByText("The scheduler of cluster west has been silent since").waitFor();
  if (await page.getByText("The scheduler of cluster east").count()) throw new Error("east is not silent");
  await row.getByText("6 of 6 GPUs are taken").click();
  await page.getByText("What would start it is not known here: no scheduler of cluster east asks for questions").waitFor();
  await page.goto(`${SITE}/queue?queue=west:team`);
  await page.getByText("west:first").first().waitFor();
  await page.getByRole("link", { name: /^west:first/ }).first().click();
  await page.getByText("was queued").waitFor();
  await page.goto(`${SITE}/profile`);
  await page.getByText("viewer").first().waitFor();
  await page.getByText("this browser", { exact: true }).waitFor();
  await page.locator(".menu summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Sign in to see this fleet.").waitFor();
  if (troubles.length) throw new Error(troubles.join("\n"));
  console.log("signed in, and out");
} catch (error) {
  console.error(String(error?.stack ?? error));
  process.exitCode = 1;
} finally {
  await browser.close();
}
