// Measures the queue and the map of the fleet in Chromium. Run by `python -m benchmarks portal`,
// which starts the server; the last line of the output has the figures as JSON.
//   GANGLION  how the command line is called, as JSON    CHROMIUM  path of the browser
import { execFileSync } from "node:child_process";
import { chromium } from "playwright-core";

const [PROGRAM, ...ARGUMENTS] = JSON.parse(process.env.GANGLION);
const link = new URL(execFileSync(PROGRAM, [...ARGUMENTS, "portal"], { encoding: "utf8" }).trim());
const SCROLLS = 120;
const UPDATES_S = 10;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const page = await context.newPage();
page.setDefaultTimeout(60_000);

/**
 * Tasks of the page's main thread while something is done, in ms: the longest, the longest script, and the
 * longest script without the time in which other programs had the core.
 */
async function traced(act) {
  await browser.startTracing(page, {
    categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "blink.user_timing"],
  });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const names = new Map();
  for (const each of traceEvents)
    if (each.name === "thread_name") names.set(`${each.pid}/${each.tid}`, each.args.name);
  // Of several pages it is the busiest.
  const busy = new Map();
  for (const each of traceEvents)
    if (each.dur && names.get(`${each.pid}/${each.tid}`) === "CrRendererMain")
      busy.set(each.pid, (busy.get(each.pid) ?? 0) + 1);
  const [pid] = [...busy].sort((a, b) => b[1] - a[1])[0] ?? [0];
  const own = traceEvents.filter(
    (each) => each.pid === pid && each.dur && names.get(`${each.pid}/${each.tid}`) === "CrRendererMain",
  );
  const longest = (wanted, key) =>
    Math.max(0, ...own.filter((each) => wanted.has(each.name)).map((each) => each[key] ?? 0)) / 1000;
  return { task: longest(TASKS, "dur"), script: longest(SCRIPTS, "dur"), cpu: longest(SCRIPTS, "tdur") };
}

const TASKS = new Set(["RunTask", "ThreadControllerImpl::RunTask"]);
const SCRIPTS = new Set(["FunctionCall", "EvaluateScript", "TimerFire", "FireAnimationFrame", "RunMicrotasks", "EventDispatch", "v8.callFunction"]);

const settled = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))));

await page.goto(link.href);
await page.getByRole("heading", { name: "Overview" }).waitFor();
const [{ name, value }] = await context.cookies();

// Changes come from another client, as they would. Every node stays closed, so that no job starts.
const csrf = (await (await context.request.get(`${link.origin}/api/v1/whoami`)).json()).csrf;
const change = async (n) => {
  const answer = await context.request.post(`${link.origin}/api/v1/nodes/node-${n % 8}/cordon`, {
    headers: { "X-CSRF-Token": csrf, Origin: link.origin, "Sec-Fetch-Site": "same-origin" },
    data: { reason: `measured, change ${n}` },
  });
  if (!answer.ok()) throw new Error(`the change is refused: ${answer.status()} ${await answer.text()}`);
};

// The queue: from the request of the page until a row answers to a click.
const loads = [];
for (let n = 0; n < 3; n += 1) {
  await page.goto("about:blank");
  const began = Date.now();
  await page.goto(`${link.origin}/queue`, { waitUntil: "commit" });
  await page.locator('[role="row"][data-row="3"]').click();
  await page.waitForURL(/job=/);
  await settled();
  loads.push(Date.now() - began);
}
await page.getByRole("button", { name: "Close" }).click();
await settled();
await page.waitForTimeout(1_000); // what the load left to be done
const scroll = await traced(async () => {
  const box = await page.locator(".table").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let n = 0; n < SCROLLS; n += 1) {
    if (n % 40 === 20) await change(n); // what waits is read again meanwhile
    await page.mouse.wheel(0, 900);
    await page.waitForTimeout(16);
  }
});

// The map: how long the canvas is drawn, and what four changes a second cost.
await page.addInitScript(() => {
  const marks = (window.__drawn = []);
  let open = false;
  // A drawing begins by clearing all, or by the frame of the first node that has changed.
  for (const name of ["clearRect", "strokeRect"]) {
    const known = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function counted(...given) {
      if (!open) {
        open = true;
        const began = performance.now();
        queueMicrotask(() => {
          open = false;
          marks.push(performance.now() - began); // drawing is one piece of script
        });
      }
      return known.apply(this, given);
    };
  }
});
await page.goto(`${link.origin}/fleet`);
await page.locator("canvas").waitFor();
await page.waitForFunction(() => window.__drawn.length > 0);
const first = await page.evaluate(() => window.__drawn[0]);
await page.waitForTimeout(2_000);
const devtools = await context.newCDPSession(page);
await devtools.send("Performance.enable");
const spent = async () => {
  const { metrics } = await devtools.send("Performance.getMetrics");
  const of = (wanted) => metrics.find((each) => each.name === wanted).value;
  return { task: of("TaskDuration"), script: of("ScriptDuration"), at: of("Timestamp") };
};
const drawnBefore = await page.evaluate(() => window.__drawn.length);
const before = await spent();
for (let n = 0; n < UPDATES_S * 4; n += 1) {
  const next = Date.now() + 250;
  await change(n);
  await page.waitForTimeout(Math.max(0, next - Date.now()));
}
const after = await spent();
const drawn = (await page.evaluate(() => window.__drawn)).slice(drawnBefore);
await browser.close();

const round = (value) => Math.round(value * 10) / 10;
console.log(
  JSON.stringify({
    queue_interactive_ms: Math.min(...loads),
    queue_interactive_all_ms: loads,
    queue_longest_script_ms: round(scroll.script),
    queue_longest_script_cpu_ms: round(scroll.cpu),
    queue_longest_task_ms: round(scroll.task),
    map_drawn_ms: round(first),
    map_core_percent: round((100 * (after.task - before.task)) / (after.at - before.at)),
    map_script_percent: round((100 * (after.script - before.script)) / (after.at - before.at)),
    map_draws: drawn.length,
    map_redrawn_ms: round(drawn.reduce((sum, each) => sum + each, 0) / Math.max(1, drawn.length)),
    cookie: `${name}=${value}`,
    url: link.origin,
  }),
);
