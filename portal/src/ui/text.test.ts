import { describe, expect, it } from "vitest";
import { csv, harmless, logLine, word } from "./text";

describe("text of others", () => {
  it("shows what would act instead of letting it", () => {
    expect(harmless("a\u202eb\u0007c\u200dd")).toBe("a\ufffdb\u2407c\ufffdd");
    expect(harmless("name-\u00fc \u05d0")).toBe("name-\u00fc \u05d0");
  });

  it("ends", () => {
    expect(harmless("x".repeat(10_000))).toHaveLength(201);
  });

  it("has no colours of terminals, and the last of what a line was overwritten with", () => {
    expect(logLine("\u001b[31mred\u001b[0m")).toBe("red");
    expect(logLine("10%\r50%\r100%\r")).toBe("100%");
    expect(logLine("\u001b]0;title\u0007text")).toBe("text");
  });

  it("is one word of a shell", () => {
    expect(word("train-1")).toBe("train-1");
    expect(word("it's; rm -rf /")).toBe(`'it'\\''s; rm -rf /'`);
  });

  it("is no formula in a spreadsheet", () => {
    expect(csv([["=HYPERLINK(1)", -5, 'a "b", c', null]])).toBe(`'=HYPERLINK(1),-5,"a ""b"", c",\r\n`);
  });
});
