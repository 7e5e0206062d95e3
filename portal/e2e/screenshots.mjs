// Takes the pictures of README. Run by `make screenshots`, which starts the server:
//   GANGLION  how the command line is called, as JSON    CHROMIUM  path of the browser
//   WAITING   the workload whose reason is shown         OUT       folder of the pictures
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [PROGRAM, ...ARGUMENTS] = JSON.parse(process.env.GANGLION);
const link = new URL(execFileSync(PROGRAM, [...ARGUMENTS, "portal"], { encoding: "utf8" }).trim());
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
const context = await browser.newContext({ viewport: { width: 1440, height: 810 }, reducedMotion: "reduce" });
const page = await context.newPage();
const devtools = await context.newCDPSession(page);

async function taken(name, colorScheme) {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.waitForTimeout(800); // a canvas draws in the next frame, numbers settle
  const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: 82 });
  const path = join(process.env.OUT, `${name}.webp`);
  writeFileSync(path, Buffer.from(data, "base64"));
  console.log(`${path}: ${Math.round((data.length * 3) / 4 / 1024)} KB`);
}

try {
  await page.goto(link.href);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto(`${link.origin}/queue?job=${process.env.WAITING}%2F0`);
  await page.getByRole("heading", { name: "When it starts" }).or(page.getByRole("heading", { name: "What would start it" })).first().waitFor();
  await taken("queue", "light");
  await page.goto(`${link.origin}/fleet?color=queue`);
  await page.locator("canvas").waitFor();
  await taken("fleet", "dark");
} finally {
  await browser.close();
}
