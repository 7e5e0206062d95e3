import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { OrderItem, StartView } from "../../api/schema";
import { SettingsProvider } from "../../ui/settings";
import { startColumn } from "./starts";

const HOUR = 3_600_000;
const row = (gang: string, never = false) => ({ gang, never }) as OrderItem;
const view = (gang: string, start: StartView["start"]): [string, StartView] => [gang, { gang, at: 1, start, guesses: [] }];

it("says the band, that it is unknown or never, and nothing before it was asked about", () => {
  const now = Date.now();
  const known = new Map([view("a/0", { p50: now + HOUR, p90: now + 4 * HOUR }), view("b/0", null)]);
  const text = (each: OrderItem, failed = false) =>
    renderToStaticMarkup(<SettingsProvider>{startColumn({ known, failed }).cell(each)}</SettingsProvider>).replace(/<[^>]*>/g, "");
  expect(text(row("a/0"))).toBe("1 h – 4 h");
  expect(text(row("b/0"))).toBe("unknown");
  expect(text(row("c/0"))).toBe("…");
  expect(text(row("c/0"), true)).toBe("unknown");
  expect(text(row("d/0", true))).toBe("never");
});
