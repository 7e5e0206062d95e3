// A browser for walks through the portal, and what every page that a walk looks at has to hold.
//   CHROMIUM  path of the browser      OUT  folder of screenshots, or empty
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const OUT = process.env.OUT ?? "";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZES = [
  ["phone", 390, 844],
  ["tablet", 820, 1180],
  ["desktop", 1440, 900],
];

export function check(holds, what) {
  if (!holds) throw new Error(`it does not hold: ${what}`);
}

export async function step(name, act) {
  const began = Date.now();
  await act();
  console.log(`ok ${name} (${Date.now() - began} ms)`);
}

/** Walk through the portal at `origin`. What does not hold, or fails in the page, fails the process. */
export async function walked(origin, walk) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    // No page lives long enough for code that is optimised to pay.
    args: ["--js-flags=--no-opt --no-maglev", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])],
  });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);

  // What the policy of contents refuses, and what fails in the page, is an error of the walk.
  const troubles = [];
  page.on("console", (line) => {
    // What a server that is gone or refuses leaves in the console is no failure of the page.
    if (line.type() === "error" && !line.text().startsWith("Failed to load resource")) troubles.push(line.text());
  });
  page.on("pageerror", (error) => troubles.push(String(error)));
  const foreign = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("blob:")) foreign.push(request.url());
  });

  const see = (text, options) => page.getByText(text, options).first().waitFor();
  const path = (to) => page.goto(origin + to);
  const settled = () => page.waitForFunction(() => !document.querySelector(".loading"));

  async function accessible(what, seen = page) {
    for (const colorScheme of ["light", "dark"]) {
      await seen.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      if (!(await seen.evaluate(() => "axe" in window))) await seen.evaluate(AXE);
      // Between the themes only colours differ.
      const rules =
        colorScheme === "dark"
          ? ["color-contrast"]
          : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
      // What is fine is not worked out in detail.
      const options = { runOnly: rules, resultTypes: ["violations"], selectors: false };
      const found = await seen.evaluate((given) => window.axe.run(document, given), options);
      const said = found.violations.map(
        (each) => `${each.id}: ${each.help}\n${each.nodes.slice(0, 3).map((node) => `    ${node.html.slice(0, 200)} ${node.failureSummary}`).join("\n")}`,
      );
      check(!said.length, `${what} is accessible in ${colorScheme}:\n${said.join("\n")}`);
    }
  }

  async function pictures(name) {
    if (!OUT) return;
    mkdirSync(OUT, { recursive: true });
    for (const [size, width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.evaluate(() => scrollTo(0, 0)); // what sticks stands where it does at first
        await page.waitForTimeout(200); // a canvas draws in the next frame
        await page.screenshot({ path: join(OUT, `${name}-${size}-${colorScheme}.png`), fullPage: size !== "desktop" });
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  }

  async function looked(name) {
    await settled();
    const wide = [];
    for (const [size, width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) wide.push(`${size} by ${over} px`);
      const inner = await page.evaluate(() =>
        [...document.querySelectorAll(".table, .scroll-x, .tabs, .filters")]
          .filter((each) => each.scrollWidth > each.clientWidth + 1)
          .map((each) => `${each.getAttribute("aria-label") ?? each.className} by ${each.scrollWidth - each.clientWidth} px`),
      );
      if (inner.length) wide.push(`${size}: ${inner.join(", ")}`);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    check(!wide.length, `${name} fits: too wide on ${wide.join(", ")}`);
    await accessible(name);
    await pictures(name);
  }

  try {
    await walk({ browser, context, page, see, path, looked, accessible, pictures, step, check });
    check(!troubles.length, `nothing fails in the page: ${troubles.join("\n")}`);
    check(!foreign.length, `nothing is asked of others: ${foreign.join(" ")}`);
    console.log("all of it holds");
  } catch (error) {
    if (OUT) {
      mkdirSync(OUT, { recursive: true });
      await page.screenshot({ path: join(OUT, "failed.png") }).catch(() => undefined);
    }
    console.error(String(error?.stack ?? error));
    console.error(`at ${page.url()}; console: ${troubles.join("\n")}`);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}
