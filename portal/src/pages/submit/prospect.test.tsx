import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
import type { DisplacedView, Displacement, Verdict } from "../../api/schema";
import { SettingsProvider } from "../../ui/settings";
import { Displaces, Starts, lost } from "./prospect";

vi.mock("@tanstack/react-router", () => ({
  Link: ({ params, children }: { params: { ref: string }; children: unknown }) => <a href={params.ref}>{children as string}</a>,
}));

const HOUR = 3_600_000;
const row = (name: string, more: Partial<DisplacedView> = {}): DisplacedView => ({
  ...{ gang: `${name}-1/0`, workload: `${name}-1`, name, queue: "vision", user: "ann", fate: "requeued" },
  ...{ gpu_milli: 8000, lost_gpu_ms: 2 * HOUR, most_gpu_ms: 2 * HOUR, most_micro: 4_000_000, ...more },
});
const all = (more: Partial<Displacement> = {}): Displacement => ({
  ...{ items: [row("train")], others: 0, gpu_milli: 8000, lost_gpu_ms: 2 * HOUR, unknown: 0 },
  ...{ most_gpu_ms: 2 * HOUR, most_micro: 4_000_000, currency: "EUR", ...more },
});
const html = (element: React.ReactElement) => renderToStaticMarkup(<SettingsProvider>{element}</SettingsProvider>);
const text = (element: React.ReactElement) => html(element).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");

it("lists whom it displaces, each with its link, and what is lost in all", () => {
  const made = <Displaces found={all()} later={false} />;
  expect(html(made)).toContain('href="train-1"');
  expect(text(made)).toContain("It would stop, shrink or move 1 gang with 8 GPUs. 2.00 GPU-h of work would be lost, charged €4.00.");
  expect(text(made)).toMatch(/train vision ?, ann ?: waits again 8 2\.00 GPU-h charged €4\.00/);
});

it("counts what the caller may not see, and says what unknown means", () => {
  const blind = row("blind", { lost_gpu_ms: null, most_gpu_ms: 5 * HOUR, most_micro: null, fate: "moved" });
  const found = all({ items: [row("train"), blind], others: 2, unknown: 1, most_gpu_ms: 7 * HOUR, most_micro: null });
  const said = text(<Displaces found={found} later />);
  expect(said).toContain("It would then stop, shrink or move 4 gangs");
  expect(said).toContain("at most 7.00 GPU-h, charged in part without a price, as 1 gang reports no checkpoints");
  expect(said).toContain("And 2 others that you may not see.");
  expect(lost(blind)).toBe("unknown, at most 5.00 GPU-h");
});

it("has no money without prices, and no more rows than fit", () => {
  const items = Array.from({ length: 25 }, (_, n) => row(`t${n}`));
  const said = text(<Displaces found={all({ items, currency: "", most_micro: null })} later={false} />);
  expect(said).not.toMatch(/charged|no price/);
  expect(said).toContain("And 5 more.");
});

it("says when it would start, or why that is unknown", () => {
  const now = Date.now();
  const told = (more: Partial<Verdict>) => text(<Starts verdict={{ guesses: [], takeover_ms: 0, start: null, start_unknown: null, ...more } as unknown as Verdict} />);
  expect(told({ start: { p50: now + HOUR, p90: now + 4 * HOUR } })).toContain("Starts within 1 h – 4 h");
  expect(told({ start_unknown: "guesses", guesses: ["w-1/0"] })).toContain("without a time limit or finished runs like it, as w-1/0");
  expect(told({ start_unknown: "never" }).trim()).toBe("");
  expect(told({ takeover_ms: now + HOUR })).toContain("takes over in 1 h");
});
